package stacks

import (
	"testing"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"ut_delay", "ut_delay"},
		{"ut_delay(unsigned long)", "ut_delay"},
		{"row_search_mvcc(...)", "row_search_mvcc"},
		{"finish_task_switch.isra.0", "finish_task_switch"},
		{"poll_schedule_timeout.constprop.0", "poll_schedule_timeout"},
		{"f(int) [clone .isra.17]", "f"},
		{"f(int) (.part.3)", "f"},
		{"g.isra.0.cold", "g"},
		{"net.(*conn).Read", "net.(*conn).Read"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"poll@plt", "poll@plt"},
		{"[unknown]", "[unknown]"},
		{"PolicyMutex<TTASEventMutex<TrackPolicy> >::enter(unsigned int, unsigned int, char const*, unsigned int)", "PolicyMutex::enter"},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"},
		{"void std::sort<int*, bool (*)(int, int)>(int*, int*, bool (*)(int, int))", "std::sort"},
		{"unsigned long f<3>(int)", "f"},
		{"A<B>::operator()(int) const", "A::operator()"},
		{"operator<<(std::ostream&, X const&)", "operator<<"},
		{"std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<<"},
		{"X::operator->() const", "X::operator->"},
		{"X::operator-><int>()", "X::operator->"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
		{"X::operator bool() const", "X::operator bool"},
		{"operator new(unsigned long)", "operator new"},
		{"A<&B::operator> >::f(int)", "A::f"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"(anonymous namespace)::f(int)::{lambda(int)#1}::operator()(int) const", "(anonymous namespace)::f::{lambda(int)#1}::operator()"},
		{"f(int)::g", "f::g"},
		{"A::f() const::{lambda()#2}::operator()() const", "A::f::{lambda()#2}::operator()"},
		{"non-virtual thunk to X::f(int)", "X::f"},
		{"my_operator(int)", "my_operator"},
		{"<T as core::Trait>::f", "<T as core::Trait>::f"},
		// mangled, as perf leaves the names of clones; the first four are of a real recording of MySQL 5.7
		{"_ZL22pfs_rw_lock_s_lock_lowP9rw_lock_tmPKcm.isra.17", "pfs_rw_lock_s_lock_low"},
		{"_ZN11PolicyMutexI14TTASEventMutexI11TrackPolicyEE5enterEmmPKcm.constprop.95", "PolicyMutex::enter"},
		{"_ZL8rr_quickP11READ_RECORD", "rr_quick"},
		{"_ZL30sel_restore_position_for_mysqlPmmP10btr_pcur_tmP5mtr_t.constprop.75", "sel_restore_position_for_mysql"},
		{"_ZNK3fooILi3ELb1EE3barEv", "foo::bar"},
		{"_ZN3fooC2Ev", "foo::foo"},
		{"_ZN3fooD0Ev", "foo::~foo"},
		{"_ZN12_GLOBAL__N_11fEi", "(anonymous namespace)::f"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector::push_back"},
		{"_ZSt4sortIPiEvT_S1_", "std::sort"},
		{"_ZlsRSoRK1X", "operator<<"},
		{"_ZN1XptEv", "X::operator->"},
		{"_ZN1XclEi", "X::operator()"},
		{"_ZZ4mainE1x", "main::x"},
		{"_ZN1AIXadL_ZN1B1fEvEEE1gEv", "_ZN1AIXadL_ZN1B1fEvEEE1gEv"}, // given up on
		{"_ZTV1X", "_ZTV1X"},
		{"_Z", "_Z"},
		{"_ZN", "_ZN"},
		{"", ""},
	} {
		if got := Short(tt.name); got != tt.want {
			t.Errorf("Short(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzShort(f *testing.F) {
	for _, s := range []string{"A<B>::operator()(int) const", "_ZN3fooILi3ELb1EE3barEv", "f(int)::{lambda()#1}", "operator", "<<(", "_ZZZZZZE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Short(s)
		if len(got) > len(s)+len("(anonymous namespace)")*len(s) || s != "" && got == "" {
			t.Errorf("Short(%q) = %q", s, got)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Skip() // parts of a mangled name are counted in bytes
		}
	})
}
