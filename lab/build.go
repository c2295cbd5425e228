// Package lab holds the words of backslide as Go types: builds, configs, variants,
// workloads, steps, cells, slices, verdicts, and the experiment file that names them.
// They are small, mostly comparable values with no behaviour beyond checking and
// naming themselves. lab imports nothing of ours; everything else imports lab.
package lab

// Family is a line of servers that share a protocol, options and tools.
type Family string

// The families that backslide can run.
const (
	MySQL   Family = "mysql"
	MariaDB Family = "mariadb"
)

// Build is an installed server tree. It is written as the manifest of the tree, so a
// tree without one is not an installed build. All paths are absolute.
type Build struct {
	Name    string `json:"name"`    // as asked for: mariadb@10.5, dir:/opt/mysql-8.0
	Family  Family `json:"family"`  // mysql or mariadb
	Version string `json:"version"` // as the server itself reports it: 10.5.29-MariaDB
	Origin  string `json:"origin"`  // where it came from: apt bullseye-security, npm, tar SHA-256, dir
	ID      string `json:"id"`      // hex; equal IDs are the same bits
	Flags   string `json:"flags,omitempty"`

	Dir         string   `json:"dir"`                    // root of the tree
	Server      string   `json:"server"`                 // the server binary
	Loader      string   `json:"loader,omitempty"`       // the tree's own ld.so; empty: the host's
	LibraryPath []string `json:"library_path,omitempty"` // for Loader, or LD_LIBRARY_PATH without one
	BaseDir     string   `json:"basedir"`                // --basedir
	MessagesDir string   `json:"messages_dir"`           // --lc-messages-dir
	PluginDir   string   `json:"plugin_dir,omitempty"`   // --plugin-dir
	SystemSQL   []string `json:"system_sql,omitempty"`   // scripts for --bootstrap, in order; empty: --initialize-insecure

	// Preloads maps an allocator's name (jemalloc, tcmalloc, mimalloc) to its shared
	// object in this tree, built against the tree's C library.
	Preloads map[string]string `json:"preloads,omitempty"`
	Packages []Package         `json:"packages,omitempty"`
}

// Package is one package that a build was unpacked from.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// VersionNumber returns the leading dotted number of the version as comparable
// numbers: 10.5.29-MariaDB-0+deb11u1 is {10, 5, 29}.
func (b Build) VersionNumber() [3]int {
	var v [3]int
	part, digits := 0, false
	for _, c := range b.Version {
		switch {
		case c >= '0' && c <= '9':
			v[part] = v[part]*10 + int(c-'0')
			digits = true
		case c == '.' && digits && part < 2:
			part, digits = part+1, false
		default:
			return v
		}
	}
	return v
}

// AtLeast reports whether the build's version is major.minor.patch or later.
func (b Build) AtLeast(major, minor, patch int) bool {
	v := b.VersionNumber()
	want := [3]int{major, minor, patch}
	for i := range v {
		if v[i] != want[i] {
			return v[i] > want[i]
		}
	}
	return true
}
