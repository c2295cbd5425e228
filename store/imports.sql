-- What others measured, as `backslide import` read it. An import has no blocks: nothing
-- in it can become a verdict, and no view mixes it with slices.
CREATE TABLE import (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL,
    at            TEXT    NOT NULL,                -- UTC, as run.started
    files         INTEGER NOT NULL,                -- that figures came from
    sources_json  TEXT    NOT NULL CHECK (json_valid(sources_json)),  -- what the user named
    problems_json TEXT    NOT NULL CHECK (json_valid(problems_json)), -- what could not be read: file:line: message
    doubts_json   TEXT    NOT NULL CHECK (json_valid(doubts_json))    -- what should not be believed as it stands
) STRICT;

-- One figure of an import.
CREATE TABLE import_figure (
    import_id  INTEGER NOT NULL REFERENCES import,
    position   INTEGER NOT NULL,                   -- order in which it was read, from 0
    host       TEXT    NOT NULL,                   -- '' where not said; likewise the next
    build      TEXT    NOT NULL,
    config     TEXT    NOT NULL,
    engine     TEXT    NOT NULL,
    workload   TEXT    NOT NULL,
    step       TEXT    NOT NULL,
    step_range INTEGER NOT NULL,                   -- the number in the name of the test; 0: none
    clients    INTEGER NOT NULL,                   -- 0: not said
    metric     TEXT    NOT NULL,
    unit       TEXT    NOT NULL,
    value      REAL    NOT NULL,
    runs       INTEGER NOT NULL,                   -- of which value is the mean
    base       TEXT    NOT NULL,                   -- of a ratio: what it is relative to; '': absolute
    origin     TEXT    NOT NULL,                   -- output, sampled, averaged, table
    replicate  INTEGER NOT NULL,                   -- from 0
    file       TEXT    NOT NULL,
    line       INTEGER NOT NULL,                   -- 0: of the file as a whole
    PRIMARY KEY (import_id, position)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER import_update BEFORE UPDATE ON import BEGIN SELECT RAISE(ABORT, 'import is write-once'); END;
CREATE TRIGGER import_delete BEFORE DELETE ON import BEGIN SELECT RAISE(ABORT, 'import is write-once'); END;
CREATE TRIGGER import_figure_update BEFORE UPDATE ON import_figure BEGIN SELECT RAISE(ABORT, 'import_figure is write-once'); END;
CREATE TRIGGER import_figure_delete BEFORE DELETE ON import_figure BEGIN SELECT RAISE(ABORT, 'import_figure is write-once'); END;

-- Throughput of an import's cells: the mean of the absolute figures that are nearest to
-- what was measured, and how many runs they are of.
CREATE VIEW v_import_qps AS
SELECT import_id, host, build || iif(config <> '', '.' || config, '') AS variant, engine, workload, step, step_range, clients, unit,
       sum(value * runs) / sum(runs) AS value, sum(runs) AS runs, origin
FROM (
    SELECT *, rank() OVER (
        PARTITION BY import_id, host, build, config, engine, workload, step, step_range, clients
        ORDER BY CASE origin WHEN 'output' THEN 0 WHEN 'sampled' THEN 1 WHEN 'averaged' THEN 2 ELSE 3 END) AS distance
    FROM import_figure WHERE metric = 'qps' AND base = '')
WHERE distance = 1
GROUP BY import_id, host, build, config, engine, workload, step, step_range, clients, unit, origin;
