package stacks

import (
	"slices"
	"strings"

	"backslide/lab"
)

// Spinner is a function whose CPU time is waiting: it tries again and again to take a
// latch that another thread holds, and then puts itself to sleep.
type Spinner struct {
	Name  string // as Short gives it
	On    string // what kind of thing it waits for
	Where string // in whose sources it is, and since when
}

// Spinners returns the functions of a family's servers, and of the C library and the
// kernel below them, that burn CPU while waiting. What they call counts too: it pauses,
// polls, or goes to sleep.
//
// Functions that also do the work of taking a free latch are left out, such as
// rw_lock_x_lock_func, PolicyMutex::enter or pthread_mutex_lock, since their time is not
// all waiting; and optimised builds inline many a loop into those. So this table shows the
// least that was waiting.
func Spinners(f lab.Family) []Spinner {
	return append(engineSpinners(f), hostSpinners()...)
}

func engineSpinners(f lab.Family) []Spinner {
	table := []Spinner{
		{"ut_delay", "a latch of InnoDB", "InnoDB, the pause of all its loops"},
		{"rw_lock_s_lock_spin", "a rw-lock of InnoDB", "InnoDB sync0rw, all MySQL, MariaDB to 10.5"},
		{"rw_lock_x_lock_wait_func", "a rw-lock of InnoDB", "InnoDB sync0rw, from 5.7"},
		{"rw_lock_x_lock_wait", "a rw-lock of InnoDB", "InnoDB sync0rw, 5.6"},
		{"mutex_spin_wait", "a mutex of InnoDB", "InnoDB sync0sync, to 5.6"},
		{"TTASEventMutex::spin_and_wait", "a mutex of InnoDB", "InnoDB ib0mutex, 5.7"},
		{"TTASEventMutex::spin_and_try_lock", "a mutex of InnoDB", "InnoDB ib0mutex, from 8.0"},
		{"sync_array_wait_event", "a latch of InnoDB", "InnoDB sync0arr: going to sleep after spinning"},
		{"os_thread_yield", "a latch of InnoDB", "InnoDB os0thread: between rounds of spinning"},
		{"rocksdb::WriteThread::AwaitState", "the leader of a group of writes", "RocksDB write_thread"},
		{"rocksdb::WriteThread::BlockingAwaitState", "the leader of a group of writes", "RocksDB write_thread"},
		{"rocksdb::port::AsmVolatilePause", "a latch of RocksDB", "RocksDB, the pause of its loops"},
		{"rocksdb::SpinMutex::lock", "a latch of RocksDB", "RocksDB util/mutexlock"},
	}
	switch f {
	case lab.MySQL:
		table = append(table,
			Spinner{"lock::Shared_spin_lock::spin_exclusive_lock", "a spin lock of the server (plugins)", "MySQL sql/locks/shared_spin_lock, from 8.0"},
			Spinner{"lock::Shared_spin_lock::spin_shared_lock", "a spin lock of the server (plugins)", "MySQL sql/locks/shared_spin_lock, from 8.0"},
		)
	case lab.MariaDB:
		table = append(table,
			Spinner{"srw_mutex_impl::wait_and_lock", "a latch of InnoDB", "MariaDB srw_lock, from 10.6"},
			Spinner{"srw_mutex_impl::wr_wait", "a latch of InnoDB", "MariaDB srw_lock, without futex"},
			Spinner{"srw_mutex::wait_and_lock", "a latch of InnoDB", "MariaDB srw_lock, early 10.6"},
			Spinner{"ssux_lock_impl::rd_wait", "a rw-lock of InnoDB", "MariaDB srw_lock, from 10.6"},
			Spinner{"ssux_lock_impl::wr_wait", "a rw-lock of InnoDB", "MariaDB srw_lock, from 10.6"},
			Spinner{"srw_lock_::rd_wait", "a rw-lock of InnoDB", "MariaDB srw_lock, without futex"},
			Spinner{"srw_lock_::wr_wait", "a rw-lock of InnoDB", "MariaDB srw_lock, without futex"},
			Spinner{"pthread_mutex_wrapper::wr_wait", "a mutex of InnoDB", "MariaDB srw_lock, from 10.6"},
			Spinner{"page_hash_latch::read_lock_wait", "the buffer pool's page hash", "MariaDB buf0buf, 10.5"},
			Spinner{"page_hash_latch::write_lock_wait", "the buffer pool's page hash", "MariaDB buf0buf, 10.5"},
		)
	}
	return table
}

func hostSpinners() []Spinner {
	return []Spinner{
		{"pthread_spin_lock", "a spin lock", "C library"},
		{"__pthread_spin_lock", "a spin lock", "C library"},
		{"sched_yield", "a latch", "C library: servers yield only between rounds of spinning"},
		{"__sched_yield", "a latch", "C library"},
		{"__lll_lock_wait", "a mutex", "C library: going to sleep on a mutex"},
		{"__lll_lock_wait_private", "a lock of the C library (malloc, stdio)", "C library"},
		{"native_queued_spin_lock_slowpath", "a spin lock of the kernel", "Linux qspinlock"},
		{"__pv_queued_spin_lock_slowpath", "a spin lock of the kernel", "Linux qspinlock, in virtual machines"},
		{"queued_read_lock_slowpath", "a rw-lock of the kernel", "Linux qrwlock"},
		{"queued_write_lock_slowpath", "a rw-lock of the kernel", "Linux qrwlock"},
		{"osq_lock", "a mutex of the kernel", "Linux osq_lock"},
		{"mutex_spin_on_owner", "a mutex of the kernel", "Linux mutex"},
		{"rwsem_spin_on_owner", "a semaphore of the kernel", "Linux rwsem"},
		{"rwsem_optimistic_spin", "a semaphore of the kernel", "Linux rwsem"},
	}
}

// Spin is CPU time that was waiting.
type Spin struct {
	Function string // the outermost function of the table
	In       string // who wanted the latch: the nearest caller that is no latch code itself; "" if unknown
	On       string // what for, as exactly as the callers tell
	Amount   Amount
}

// Spins returns the waiting that burned CPU, that with most weight first.
func (p *Profile) Spins(table []Spinner) []Spin {
	on := map[string]string{}
	for _, s := range table {
		on[s.Name] = s.On
	}
	short := p.shortNames()
	sums := map[Spin]Amount{}
	for id := range p.nodes {
		if a := p.nodes[id].self; a.Samples > 0 {
			if s, ok := p.spin(int32(id), on, short); ok {
				sum := sums[s]
				sum.add(a)
				sums[s] = sum
			}
		}
	}
	var spins []Spin
	for s, a := range sums {
		s.Amount = a
		spins = append(spins, s)
	}
	slices.SortFunc(spins, func(a, b Spin) int {
		if a.Amount.Weight != b.Amount.Weight {
			return compareDown(a.Amount.Weight, b.Amount.Weight)
		}
		return strings.Compare(a.Function+" "+a.In, b.Function+" "+b.In)
	})
	return spins
}

// shortNames returns the short name of every frame by its number.
func (p *Profile) shortNames() []string {
	short := make([]string, len(p.frames))
	for i, f := range p.frames {
		short[i] = Short(f.Name)
	}
	return short
}

// spin looks for the outermost spinner of a stack, and for who called it.
func (p *Profile) spin(id int32, on map[string]string, short []string) (Spin, bool) {
	var s Spin
	found := noParent
	for at := id; at != noParent; at = p.nodes[at].parent {
		name := short[p.nodes[at].frame]
		if what, ok := on[name]; ok {
			s.Function, s.On, found = name, what, at
		}
	}
	if found == noParent {
		return s, false
	}
	for at := p.nodes[found].parent; at != noParent; at = p.nodes[at].parent {
		name := short[p.nodes[at].frame]
		if p.frames[p.nodes[at].frame].nameless() || latchCode(name) {
			continue
		}
		s.In = name
		if what := wanted(name); what != "" {
			s.On = what
		}
		break
	}
	return s, true
}

// latchCode reports whether a function is part of taking a latch, so that its caller is
// the one of interest.
func latchCode(name string) bool {
	for _, s := range []string{"mutex_enter", "Mutex::enter", "Mutex::lock", "mutex_lock", "rw_lock_", "srw_", "ssux_lock", "sux_lock", "page_hash_latch", "_raw_spin_lock", "lock_guard", "unique_lock", "spin_lock", "psi_", "pfs_", "Shared_spin_lock", "ut_delay", "std::this_thread::yield"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// wanted says which latch a function takes, if its name tells.
func wanted(caller string) string {
	for _, c := range []struct{ prefix, what string }{
		{"btr_search_", "the adaptive hash index (btr_search_latch)"},
		{"buf_page_optimistic_get", "a page's latch"},
		{"buf_page_get_", "a page's latch or the buffer pool's page hash"},
		{"buf_page_", "the buffer pool"},
		{"buf_LRU_", "the buffer pool's LRU list"},
		{"buf_flush_", "the buffer pool's flush list"},
		{"buf_pool", "the buffer pool"},
		{"btr_", "an index tree or one of its pages"},
		{"mtr_t::commit", "the redo log or the flush list"},
		{"log_", "the redo log"},
		{"fil_", "the tablespaces (fil_system)"},
		{"lock_", "the lock system"},
		{"trx_", "the transaction system"},
		{"ReadView::", "the transaction system"},
		{"MVCC::", "the transaction system"},
		{"dict_", "the dictionary cache"},
		{"ibuf_", "the change buffer"},
		{"MDL_", "metadata locks"},
		{"futex_", "a mutex that many threads sleep on (futex hash bucket)"},
		{"MYSQL_BIN_LOG::", "the binary log"},
	} {
		if strings.HasPrefix(caller, c.prefix) {
			return c.what
		}
	}
	return ""
}
