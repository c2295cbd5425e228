-- The results database of a lab, version 1. docs/results.md explains it with examples.
--
-- Conventions: a column that holds an amount carries its unit in its name (_sec, _bytes,
-- _nsec) or counts things. NULL in a measured column means that it could not be read,
-- never zero. Names of variants, steps and servers are as in the experiment file.
-- Columns that end in _json hold the rest of what backslide itself needs.

-- One execution of an experiment, written before its first block.
CREATE TABLE run (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL,                 -- of the experiment
    started      TEXT    NOT NULL,                 -- UTC, 2006-01-02T15:04:05.999999999Z
    ended        TEXT,                             -- NULL while the run can be resumed
    seed         INTEGER NOT NULL,                 -- of the plan; two's complement of an unsigned number
    blocks_max   INTEGER NOT NULL,
    alpha        REAL    NOT NULL,                 -- two-sided, per test
    margin       REAL    NOT NULL,                 -- of equivalence, as a log-ratio
    placement    TEXT    NOT NULL,                 -- of servers and clients on CPUs
    freezer      TEXT    NOT NULL,                 -- how idle servers were kept still
    kernel       TEXT    NOT NULL,
    cpu          TEXT    NOT NULL,
    cpus         INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    virtual      TEXT    NOT NULL,                 -- hypervisor; '' on bare metal
    client       TEXT    NOT NULL,                 -- version of backslide
    experiment_json TEXT NOT NULL CHECK (json_valid(experiment_json)),
    plan_json    TEXT    NOT NULL CHECK (json_valid(plan_json)),
    host_json    TEXT    NOT NULL CHECK (json_valid(host_json))
) STRICT;

-- A decision to go on with a run beyond its plan. The last row of a run holds.
CREATE TABLE raised (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES run,
    at          TEXT    NOT NULL,                  -- UTC, as run.started
    blocks_max  INTEGER NOT NULL,
    budget_nsec INTEGER NOT NULL,                  -- 0: no limit
    ended       TEXT                               -- NULL while the run can be resumed
) STRICT;
CREATE INDEX raised_run ON raised (run_id);

-- An installed server tree, once per lab however many runs used it.
CREATE TABLE build (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,                   -- as asked for: mariadb@10.5
    family        TEXT NOT NULL,
    version       TEXT NOT NULL,                   -- as the server reports it
    origin        TEXT NOT NULL,
    build_digest  TEXT NOT NULL,                   -- equal digests are the same bits
    flags         TEXT NOT NULL,                   -- compiler flags; '' where unknown
    manifest_json TEXT NOT NULL UNIQUE CHECK (json_valid(manifest_json))
) STRICT;

-- A named set of options as the servers got it.
CREATE TABLE config (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    config_json TEXT NOT NULL UNIQUE CHECK (json_valid(config_json))
) STRICT;

-- build × config × engine within a run. What the server said of itself (the last four
-- columns and its settings) is filled in once, after its first start.
CREATE TABLE variant (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES run,
    position       INTEGER NOT NULL,               -- order in the run, from 0
    is_base        INTEGER NOT NULL CHECK (is_base IN (0, 1)),
    build          TEXT    NOT NULL,
    config         TEXT    NOT NULL,
    engine         TEXT    NOT NULL,
    copy           INTEGER NOT NULL,               -- 0; 1 and up are A/A twins
    build_id       INTEGER REFERENCES build,
    config_id      INTEGER REFERENCES config,
    engine_version TEXT,
    ignored_json   TEXT CHECK (ignored_json IS NULL OR json_valid(ignored_json)), -- options that had no effect
    UNIQUE (run_id, build, config, engine, copy),
    UNIQUE (run_id, position)
) STRICT;

-- SHOW GLOBAL VARIABLES of a variant's server after its first start.
CREATE TABLE setting (
    variant_id INTEGER NOT NULL REFERENCES variant,
    name       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    PRIMARY KEY (variant_id, name)
) STRICT, WITHOUT ROWID;

-- A step at a number of clients within a run.
CREATE TABLE level (
    id         INTEGER PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES run,
    position   INTEGER NOT NULL,                   -- order in the run, from 0
    workload   TEXT    NOT NULL,
    step       TEXT    NOT NULL,
    clients    INTEGER NOT NULL,
    step_group TEXT    NOT NULL,                   -- load, point, range, aggregate, write
    is_read    INTEGER NOT NULL CHECK (is_read IN (0, 1)), -- 1: leaves the data as they were
    is_warm    INTEGER NOT NULL CHECK (is_warm IN (0, 1)), -- 1: run once per block for its effect, never measured
    slice_ops  INTEGER NOT NULL,                   -- operations per slice over all clients; 0: slices end by time
    slice_nsec INTEGER NOT NULL,                   -- length of a read slice, expected length of another
    slices     INTEGER NOT NULL,                   -- per variant and block
    limit_nsec INTEGER NOT NULL,                   -- longest that a slice may take, of a level that is one whole slice in a block; 0: it is many
    is_open    INTEGER NOT NULL CHECK (is_open IN (0, 1)), -- 1: operations are due at a set rate
    rate_per_sec REAL  NOT NULL,                   -- that was asked for over all clients; 0: the step's own, or a closed loop
    pilot_sd   REAL,                               -- of a mirrored group's difference in the pilot, as a log-ratio; NULL: not known
    why        TEXT    NOT NULL,                   -- so long and so many slices; '': the plan said so
    spin_nsec  INTEGER NOT NULL,                   -- added to each operation of one side by a self-test; 0 otherwise
    UNIQUE (run_id, workload, step, clients),
    UNIQUE (run_id, position)
) STRICT;

-- One short measured interval of one cell (variant × level) within a block. CPU and
-- waiting seconds are summed over threads. The key is variant, level, block, set_no,
-- seq, kind.
CREATE TABLE slice (
    id                INTEGER PRIMARY KEY,         -- in the order of storing
    run_id            INTEGER NOT NULL REFERENCES run,
    variant_id        INTEGER NOT NULL REFERENCES variant,
    level_id          INTEGER NOT NULL REFERENCES level,
    block             INTEGER NOT NULL,            -- from 0: the replicate of all statistics
    set_no            INTEGER NOT NULL,            -- which variants were interleaved together
    seq               INTEGER NOT NULL,            -- equal seq is equal work
    kind              TEXT    NOT NULL,            -- measured; others were watched (plain, stacks, waits) and enter no comparison
    position          INTEGER NOT NULL,            -- order within the block
    restart           INTEGER NOT NULL,            -- 0 unless the run was resumed in mid-block
    start_unix_nsec   INTEGER,                     -- of the measured part; NULL: it did not start
    age_sec           REAL    NOT NULL,            -- from the server's being ready to the start
    wall_sec          REAL    NOT NULL,            -- measured
    ops               INTEGER NOT NULL,
    offered_per_sec   REAL    NOT NULL,            -- operations that an open loop asked for; 0: closed loop
    behind            INTEGER NOT NULL,            -- of those, due and not ended
    latency_sec       REAL    NOT NULL,            -- mean per operation, as the client saw it; 0: not known
    p50_sec           REAL    NOT NULL,            -- quantiles of the latency; 0: not known
    p95_sec           REAL    NOT NULL,
    p99_sec           REAL    NOT NULL,
    rows              INTEGER NOT NULL,
    retries           INTEGER NOT NULL,
    server_user_sec   REAL,
    server_system_sec REAL,
    server_runq_sec   REAL,                        -- server threads waiting for a CPU
    conn_cpu_sec      REAL,                        -- of server_user_sec + server_system_sec: the threads that serve the clients
    conn_runq_sec     REAL,                        -- of server_runq_sec: the threads that serve the clients
    client_user_sec   REAL,
    client_system_sec REAL,
    ctx_voluntary     INTEGER,                     -- context switches of server threads
    ctx_forced        INTEGER,
    read_bytes        INTEGER,                     -- by the server, from and to storage
    write_bytes       INTEGER,
    read_calls        INTEGER,
    write_calls       INTEGER,
    major_faults      INTEGER,
    steal_sec         REAL,                        -- taken from all CPUs by the hypervisor
    host_busy_sec     REAL,                        -- CPU of neither server nor client
    rss_bytes         INTEGER,                     -- of the server, at the end
    stall_cpu_sec     REAL,                        -- in which some task of the host waited for a CPU
    stall_memory_sec  REAL,                        -- likewise, for memory
    stall_io_sec      REAL,                        -- likewise, for storage
    dirty_bytes       INTEGER,                     -- of the host's file cache, not yet on storage, at the end
    frequency_hz      REAL,                        -- of the CPUs, mean, at the end
    throttled         INTEGER,                     -- times that a CPU was slowed down for its heat
    warnings_json     TEXT CHECK (warnings_json IS NULL OR json_valid(warnings_json)), -- doubts of the client about this slice
    err               TEXT,                        -- why the slice has no result; NULL: it has one
    UNIQUE (variant_id, level_id, block, set_no, seq, kind)
) STRICT;
CREATE INDEX slice_run ON slice (run_id, block);

-- How often a server answered with an error code in a slice.
CREATE TABLE slice_error (
    slice_id INTEGER NOT NULL REFERENCES slice,
    position INTEGER NOT NULL,                     -- order as reported, from 0
    code     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (slice_id, position)
) STRICT, WITHOUT ROWID;

-- Latencies of a slice, as the client encodes them; apart, so that slices read fast.
CREATE TABLE slice_histogram (
    slice_id INTEGER PRIMARY KEY REFERENCES slice,
    hist     BLOB NOT NULL
) STRICT;

-- What each role of a step did in a slice, over all clients; none of steps without roles.
-- The slice's own operations are those of the role at position 0.
CREATE TABLE slice_part (
    slice_id        INTEGER NOT NULL REFERENCES slice,
    position        INTEGER NOT NULL,              -- order of the roles, from 0
    role            TEXT    NOT NULL,
    ops             INTEGER NOT NULL,
    rows            INTEGER NOT NULL,
    offered_per_sec REAL    NOT NULL,              -- operations that its rate asked for; 0: it has none
    hist            BLOB,                          -- latencies, as in slice_histogram
    PRIMARY KEY (slice_id, position)
) STRICT;

-- Long slices second by second, from their start: a JSON array for each thing that was
-- observed, for json_each. Negative: not known.
CREATE TABLE slice_series (
    slice_id    INTEGER NOT NULL REFERENCES slice,
    position    INTEGER NOT NULL,
    name        TEXT    NOT NULL,                  -- rate, worst, of a role: insert rate; server cpu, dirty pages, …
    unit        TEXT    NOT NULL,
    values_json TEXT    NOT NULL CHECK (json_valid(values_json)),
    PRIMARY KEY (slice_id, position)
) STRICT;

-- What a long slice added to counters, and sizes at its end.
CREATE TABLE slice_reading (
    slice_id INTEGER NOT NULL REFERENCES slice,
    position INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    unit     TEXT    NOT NULL,
    value    REAL    NOT NULL,
    PRIMARY KEY (slice_id, position)
) STRICT;

-- What happened during a run and is no result: a server died, a block was resumed.
CREATE TABLE event (
    id         INTEGER PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES run,
    at         TEXT    NOT NULL,                   -- UTC, as run.started
    block      INTEGER,                            -- NULL: of no block
    variant_id INTEGER REFERENCES variant,         -- NULL: of no variant
    text       TEXT    NOT NULL
) STRICT;
CREATE INDEX event_run ON event (run_id);

-- Kept files: logs, profiles, plans. The content lies in files/ below the lab, named
-- by its digest: the first two hex digits are a folder, the other 62 the name in it.
CREATE TABLE file (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL REFERENCES run,
    kind    TEXT    NOT NULL,
    name    TEXT    NOT NULL,                      -- a label, not a path
    digest  TEXT    NOT NULL CHECK (length(digest) = 64), -- SHA-256, hex
    bytes   INTEGER NOT NULL,
    added   TEXT    NOT NULL,                      -- UTC, as run.started
    UNIQUE (run_id, kind, name)
) STRICT;

-- Results are written once. The triggers hold for the sqlite3 shell too.
CREATE TRIGGER slice_insert BEFORE INSERT ON slice
WHEN EXISTS (SELECT 1 FROM slice WHERE variant_id = NEW.variant_id AND level_id = NEW.level_id AND block = NEW.block
             AND set_no = NEW.set_no AND seq = NEW.seq AND kind = NEW.kind)
  OR EXISTS (SELECT 1 FROM slice WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'slice is write-once: it is stored already'); END;
CREATE TRIGGER slice_of_run BEFORE INSERT ON slice
WHEN NOT EXISTS (SELECT 1 FROM variant WHERE id = NEW.variant_id AND run_id = NEW.run_id)
  OR NOT EXISTS (SELECT 1 FROM level WHERE id = NEW.level_id AND run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'slice: its variant or level belongs to another run'); END;
CREATE TRIGGER slice_update BEFORE UPDATE ON slice BEGIN SELECT RAISE(ABORT, 'slice is write-once'); END;
CREATE TRIGGER slice_delete BEFORE DELETE ON slice BEGIN SELECT RAISE(ABORT, 'slice is write-once'); END;
CREATE TRIGGER slice_error_update BEFORE UPDATE ON slice_error BEGIN SELECT RAISE(ABORT, 'slice_error is write-once'); END;
CREATE TRIGGER slice_error_delete BEFORE DELETE ON slice_error BEGIN SELECT RAISE(ABORT, 'slice_error is write-once'); END;
CREATE TRIGGER slice_histogram_update BEFORE UPDATE ON slice_histogram BEGIN SELECT RAISE(ABORT, 'slice_histogram is write-once'); END;
CREATE TRIGGER slice_histogram_delete BEFORE DELETE ON slice_histogram BEGIN SELECT RAISE(ABORT, 'slice_histogram is write-once'); END;
CREATE TRIGGER slice_part_update BEFORE UPDATE ON slice_part BEGIN SELECT RAISE(ABORT, 'slice_part is write-once'); END;
CREATE TRIGGER slice_part_delete BEFORE DELETE ON slice_part BEGIN SELECT RAISE(ABORT, 'slice_part is write-once'); END;
CREATE TRIGGER slice_series_update BEFORE UPDATE ON slice_series BEGIN SELECT RAISE(ABORT, 'slice_series is write-once'); END;
CREATE TRIGGER slice_series_delete BEFORE DELETE ON slice_series BEGIN SELECT RAISE(ABORT, 'slice_series is write-once'); END;
CREATE TRIGGER slice_reading_update BEFORE UPDATE ON slice_reading BEGIN SELECT RAISE(ABORT, 'slice_reading is write-once'); END;
CREATE TRIGGER slice_reading_delete BEFORE DELETE ON slice_reading BEGIN SELECT RAISE(ABORT, 'slice_reading is write-once'); END;
CREATE TRIGGER run_update BEFORE UPDATE ON run
WHEN OLD.ended IS NOT NULL OR NEW.ended IS NULL
BEGIN SELECT RAISE(ABORT, 'run is write-once: only its end is filled in, once'); END;
CREATE TRIGGER run_fixed BEFORE UPDATE OF id, name, started, seed, blocks_max, alpha, margin, placement, freezer, kernel, cpu,
    cpus, memory_bytes, virtual, client, experiment_json, plan_json, host_json ON run
BEGIN SELECT RAISE(ABORT, 'run is write-once: only its end is filled in, once'); END;
CREATE TRIGGER run_delete BEFORE DELETE ON run BEGIN SELECT RAISE(ABORT, 'run is write-once'); END;
CREATE TRIGGER raised_update BEFORE UPDATE ON raised
WHEN OLD.ended IS NOT NULL OR NEW.ended IS NULL
BEGIN SELECT RAISE(ABORT, 'raised is write-once: only its end is filled in, once'); END;
CREATE TRIGGER raised_fixed BEFORE UPDATE OF id, run_id, at, blocks_max, budget_nsec ON raised
BEGIN SELECT RAISE(ABORT, 'raised is write-once: only its end is filled in, once'); END;
CREATE TRIGGER raised_delete BEFORE DELETE ON raised BEGIN SELECT RAISE(ABORT, 'raised is write-once'); END;
CREATE TRIGGER variant_update BEFORE UPDATE ON variant
WHEN OLD.build_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'variant is write-once: what its server said is stored already'); END;
CREATE TRIGGER variant_fixed BEFORE UPDATE OF id, run_id, position, is_base, build, config, engine, copy ON variant
BEGIN SELECT RAISE(ABORT, 'variant is write-once'); END;
CREATE TRIGGER variant_delete BEFORE DELETE ON variant BEGIN SELECT RAISE(ABORT, 'variant is write-once'); END;
CREATE TRIGGER setting_update BEFORE UPDATE ON setting BEGIN SELECT RAISE(ABORT, 'setting is write-once'); END;
CREATE TRIGGER setting_delete BEFORE DELETE ON setting BEGIN SELECT RAISE(ABORT, 'setting is write-once'); END;
CREATE TRIGGER level_update BEFORE UPDATE ON level BEGIN SELECT RAISE(ABORT, 'level is write-once'); END;
CREATE TRIGGER level_delete BEFORE DELETE ON level BEGIN SELECT RAISE(ABORT, 'level is write-once'); END;
CREATE TRIGGER build_update BEFORE UPDATE ON build BEGIN SELECT RAISE(ABORT, 'build is write-once'); END;
CREATE TRIGGER build_delete BEFORE DELETE ON build BEGIN SELECT RAISE(ABORT, 'build is write-once'); END;
CREATE TRIGGER config_update BEFORE UPDATE ON config BEGIN SELECT RAISE(ABORT, 'config is write-once'); END;
CREATE TRIGGER config_delete BEFORE DELETE ON config BEGIN SELECT RAISE(ABORT, 'config is write-once'); END;
CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'event is write-once'); END;
CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'event is write-once'); END;
CREATE TRIGGER file_update BEFORE UPDATE ON file BEGIN SELECT RAISE(ABORT, 'file is write-once'); END;
CREATE TRIGGER file_delete BEFORE DELETE ON file BEGIN SELECT RAISE(ABORT, 'file is write-once'); END;

-- Variants with the version that their servers reported.
CREATE VIEW v_variant AS
SELECT v.id AS variant_id, v.run_id,
       v.build || '/' || v.config || '/' || v.engine || iif(v.copy > 0, '#' || v.copy, '') AS variant,
       v.position, v.is_base, v.build, v.config, v.engine, v.copy,
       b.family, b.version, b.origin, b.build_digest, v.engine_version
FROM variant v LEFT JOIN build b ON b.id = v.build_id;

-- Slices with names instead of ids, and figures per operation. A figure is NULL where
-- the slice failed, made no operation or the host did not tell.
CREATE VIEW v_slice AS
SELECT s.id AS slice_id, s.run_id, s.block, s.set_no, s.seq, s.kind, s.position, s.restart,
       v.variant, v.is_base, l.workload, l.step, l.clients, l.step_group,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.start_unix_nsec / 1e9, 'unixepoch') AS started,
       s.age_sec, s.wall_sec, s.ops,
       iif(s.err IS NULL AND s.ops > 0 AND s.wall_sec > 0, s.ops / s.wall_sec, NULL) AS op_per_sec,
       iif(s.err IS NULL AND s.ops > 0, (s.server_user_sec + s.server_system_sec) / s.ops, NULL) AS server_cpu_sec_per_op,
       iif(s.err IS NULL AND s.ops > 0, s.server_system_sec / s.ops, NULL) AS server_system_sec_per_op,
       iif(s.err IS NULL AND s.ops > 0, s.server_runq_sec / s.ops, NULL) AS server_runq_sec_per_op,
       iif(s.err IS NULL AND s.ops > 0, (s.client_user_sec + s.client_system_sec) / s.ops, NULL) AS client_cpu_sec_per_op,
       iif(s.err IS NULL AND s.ops > 0, 1.0 * (s.ctx_voluntary + s.ctx_forced) / s.ops, NULL) AS context_switches_per_op,
       iif(s.err IS NULL AND s.ops > 0, 1.0 * s.read_bytes / s.ops, NULL) AS read_bytes_per_op,
       iif(s.err IS NULL AND s.ops > 0, 1.0 * s.write_bytes / s.ops, NULL) AS write_bytes_per_op,
       s.steal_sec, s.host_busy_sec, s.rss_bytes, s.err
FROM slice s JOIN v_variant v ON v.variant_id = s.variant_id JOIN level l ON l.id = s.level_id;

-- Throughput and cost of a cell in a block: the good measured slices added up.
CREATE VIEW v_qps AS
SELECT run_id, block, set_no, workload, step, clients, step_group, variant, is_base,
       count(*) AS slices, sum(ops) AS ops, sum(wall_sec) AS wall_sec,
       sum(ops) / sum(wall_sec) AS op_per_sec,
       avg(ln(op_per_sec)) AS mean_ln_op_per_sec,
       sum(server_cpu_sec_per_op * ops) / sum(iif(server_cpu_sec_per_op IS NULL, NULL, ops)) AS server_cpu_sec_per_op,
       sum(client_cpu_sec_per_op * ops) / sum(iif(client_cpu_sec_per_op IS NULL, NULL, ops)) AS client_cpu_sec_per_op,
       sum(server_runq_sec_per_op * ops) / sum(iif(server_runq_sec_per_op IS NULL, NULL, ops)) AS server_runq_sec_per_op,
       sum(context_switches_per_op * ops) / sum(iif(context_switches_per_op IS NULL, NULL, ops)) AS context_switches_per_op,
       sum(read_bytes_per_op * ops) / sum(iif(read_bytes_per_op IS NULL, NULL, ops)) AS read_bytes_per_op,
       sum(write_bytes_per_op * ops) / sum(iif(write_bytes_per_op IS NULL, NULL, ops)) AS write_bytes_per_op
FROM v_slice WHERE kind = 'measured' AND op_per_sec IS NOT NULL
GROUP BY run_id, block, set_no, workload, step, clients, variant;

-- A candidate against the base, per block: log_ratio is the replicate of the
-- statistics, exp(log_ratio) the throughput relative to the base's.
CREATE VIEW v_ratio AS
SELECT c.run_id, c.block, c.set_no, c.workload, c.step, c.clients, c.step_group,
       b.variant AS base, c.variant AS candidate, b.op_per_sec AS base_op_per_sec, c.op_per_sec AS candidate_op_per_sec,
       c.mean_ln_op_per_sec - b.mean_ln_op_per_sec AS log_ratio
FROM v_qps c JOIN v_qps b USING (run_id, block, set_no, workload, step, clients)
WHERE b.is_base AND NOT c.is_base;

-- Slices that have no result, with the reason.
CREATE VIEW v_failure AS
SELECT run_id, block, set_no, seq, kind, variant, workload, step, clients, started, err
FROM v_slice WHERE err IS NOT NULL;

-- Server variables in which a candidate differs from the base of its run; NULL: the
-- server does not have it.
CREATE VIEW v_setting_diff AS
SELECT v.run_id, v.variant AS candidate, n.name, b.value AS base_value, c.value AS candidate_value
FROM v_variant v
JOIN v_variant base ON base.run_id = v.run_id AND base.is_base
JOIN setting n ON n.variant_id IN (v.variant_id, base.variant_id)
LEFT JOIN setting c ON c.variant_id = v.variant_id AND c.name = n.name
LEFT JOIN setting b ON b.variant_id = base.variant_id AND b.name = n.name
WHERE NOT v.is_base AND v.build_digest IS NOT NULL AND base.build_digest IS NOT NULL AND b.value IS NOT c.value
GROUP BY v.variant_id, n.name;
