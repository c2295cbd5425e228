package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"backslide/lab"
)

const (
	manifestName = "manifest.json"
	stagePrefix  = ".new-" // trees that are being filled; never looked at as builds
)

// Installed returns the builds of the cache, by name. A manifest that cannot be read is
// reported in the error; the others are returned all the same.
func (c *Cache) Installed() ([]lab.Build, error) {
	var out []lab.Build
	var errs []error
	for _, p := range glob(c.Dir, "builds/[^.]*/"+manifestName) {
		b, err := readManifest(p)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !isFile(b.Server):
			errs = append(errs, fmt.Errorf("%s: its server %s is gone; remove the manifest's folder", p, b.Server))
		default:
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b lab.Build) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

func readManifest(path string) (lab.Build, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return lab.Build{}, err
	}
	var b lab.Build
	if err := json.Unmarshal(text, &b); err != nil {
		return lab.Build{}, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// install makes the build in folder unless it is there. fill puts the tree into an empty
// directory on the same file system and describes it with paths below that directory.
// Only a tree that was filled, flushed to disk and has its manifest gets the folder's
// name, in one rename; whatever dies before leaves a staging directory that the next
// fetch removes. Two installs of one folder take turns and the second finds the first's.
func (c *Cache) install(ctx context.Context, folder string, fill func(stage string) (lab.Build, error)) (lab.Build, error) {
	unlock, err := c.lock(ctx, folder)
	if err != nil {
		return lab.Build{}, err
	}
	defer unlock()
	final := filepath.Join(c.Dir, "builds", folder)
	if b, err := readManifest(filepath.Join(final, manifestName)); err == nil && isFile(b.Server) {
		return b, nil
	}
	if err := c.sweep(folder); err != nil {
		return lab.Build{}, unwritable(err)
	}
	stage, err := newStage(filepath.Dir(final), folder)
	if err != nil {
		return lab.Build{}, unwritable(err)
	}
	defer os.RemoveAll(stage)
	b, err := fill(stage)
	if err != nil {
		return lab.Build{}, err
	}
	b = rebase(b, stage, final)
	if err := commit(stage, final, b); err != nil {
		return lab.Build{}, unwritable(err)
	}
	return b, nil
}

// commit flushes the staged tree, writes its manifest and gives it its name.
func commit(stage, final string, b lab.Build) error {
	if err := syncTree(stage); err != nil {
		return err
	}
	if err := writeManifest(filepath.Join(stage, manifestName), b); err != nil {
		return err
	}
	if err := os.Rename(stage, final); err != nil {
		return err
	}
	return syncFile(filepath.Dir(final))
}

func writeManifest(path string, b lab.Build) error {
	text, err := json.MarshalIndent(b, "", "\t")
	if err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := syncFile(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncFile(filepath.Dir(path))
}

// newStage makes the directory that a tree is filled in. Its name is new each time, so
// that a helper program which outlived a killed fetch cannot write into the next one's.
func newStage(builds, folder string) (string, error) {
	if err := os.MkdirAll(builds, 0o755); err != nil {
		return "", err
	}
	stage, err := os.MkdirTemp(builds, stagePrefix+folder+".")
	if err != nil {
		return "", err
	}
	return stage, os.Chmod(stage, 0o755)
}

// sweep removes what dead fetches left: of the folder whose lock the caller holds, all of
// it, a place without a manifest included; of others, staging directories that nobody has
// the lock of.
func (c *Cache) sweep(mine string) error {
	builds := filepath.Join(c.Dir, "builds")
	for _, s := range glob(builds, stagePrefix+"*") {
		folder := strings.TrimPrefix(filepath.Base(s), stagePrefix)
		folder = folder[:max(0, strings.LastIndexByte(folder, '.'))]
		if folder == mine {
			if err := os.RemoveAll(s); err != nil {
				return err
			}
		} else if unlock, ok, err := c.tryLock(folder); ok && err == nil {
			os.RemoveAll(s) // ours only by courtesy
			unlock()
		}
	}
	return os.RemoveAll(filepath.Join(builds, mine))
}

func syncTree(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return syncFile(p)
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// rebase returns b with the paths below from moved below to.
func rebase(b lab.Build, from, to string) lab.Build {
	move := func(p string) string {
		if rest, ok := strings.CutPrefix(p, from); ok && (rest == "" || rest[0] == '/') {
			return to + rest
		}
		return p
	}
	for _, p := range []*string{&b.Dir, &b.Server, &b.Loader, &b.BaseDir, &b.MessagesDir, &b.PluginDir} {
		*p = move(*p)
	}
	for _, list := range []*[]string{&b.LibraryPath, &b.SystemSQL} {
		moved := slices.Clone(*list)
		for i := range moved {
			moved[i] = move(moved[i])
		}
		*list = moved
	}
	if b.Preloads != nil {
		moved := map[string]string{}
		for k, v := range b.Preloads {
			moved[k] = move(v)
		}
		b.Preloads = moved
	}
	return b
}

// packagesID returns the ID of a build made of packages: equal for equal packages in any
// order.
func packagesID(packages []lab.Package) string {
	var lines []string
	for _, p := range packages {
		lines = append(lines, p.Name+" "+p.Version+" "+p.SHA256+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// folderOf returns a build name as a file name.
func folderOf(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '+', r == '-':
			return r
		}
		return '-'
	}, name)
}
