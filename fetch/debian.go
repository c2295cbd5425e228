package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// aptOffers returns what the suites of the machine's Debian mirror have. A suite that the
// mirror does not have is not an error as long as one of them is there.
func (c *Cache) aptOffers(ctx context.Context) ([]Offer, error) {
	main, security, err := readSources(ctx)
	if err != nil {
		return nil, err
	}
	names := suites()
	found := make([][]Offer, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			a := c.apt(name)
			if errs[i] = c.update(ctx, a, main, security, false); errs[i] == nil {
				found[i], errs[i] = a.offers(ctx)
			}
		})
	}
	wg.Wait()
	if !slices.Contains(errs, nil) {
		return nil, fmt.Errorf("no package lists of %s could be fetched and none are cached: %w; "+
			"check the network, or use a tree (dir:PATH) or a tarball (tar:FILE#sha256=HEX) that is here", strings.Join(names, ", "), errs[0])
	}
	for i, err := range errs {
		if err != nil {
			c.logf("%s: left out: %v", names[i], err)
		}
	}
	return slices.Concat(found...), nil
}

// offers lists the server packages of the suite in all their versions.
func (a apt) offers(ctx context.Context) ([]Offer, error) {
	names, err := a.packages(ctx, isCore, "mariadb-server-core", "mysql-server-core")
	if err != nil || len(names) == 0 {
		return nil, err
	}
	text, err := a.run(ctx, a.dir, "apt-cache", append([]string{"madison"}, names...)...)
	if err != nil {
		return nil, err
	}
	offers := parseMadison(text)
	for i := range offers {
		offers[i].suite = a.suite
	}
	return offers, nil
}

// packages returns the suite's packages that start with one of prefixes and that keep wants.
func (a apt) packages(ctx context.Context, keep func(string) bool, prefixes ...string) ([]string, error) {
	var names []string
	for _, prefix := range prefixes {
		text, err := a.run(ctx, a.dir, "apt-cache", "pkgnames", prefix)
		if err != nil {
			return nil, err
		}
		for _, n := range strings.Fields(text) {
			if keep(n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// isAllocator reports whether a package holds one of the allocators that can be preloaded.
func isAllocator(pkg string) bool {
	for _, stem := range []string{"libjemalloc", "libtcmalloc-minimal", "libmimalloc"} {
		if n, ok := strings.CutPrefix(pkg, stem); ok && n != "" && strings.Trim(strings.TrimSuffix(n, "t64"), "0123456789.") == "" {
			return true
		}
	}
	return false
}

// plan returns the packages that make up an offer, with their digests in the signed index.
func (a apt) plan(ctx context.Context, o Offer) ([]deb, error) {
	// The core package's siblings of the same version: the SQL of the system tables, and MyRocks.
	siblings := []string{strings.Replace(o.pkg, "-core", "", 1), string(o.Family) + "-plugin-rocksdb"}
	roots := []string{o.pkg}
	for _, s := range siblings {
		if o.Family != lab.MariaDB {
			break // MySQL's core package is complete
		}
		text, err := a.run(ctx, a.dir, "apt-cache", "madison", s)
		if err != nil {
			return nil, err
		}
		if strings.Contains(text, "| "+o.pkgVersion+" |") {
			roots = append(roots, s)
		}
	}
	allocators, err := a.packages(ctx, isAllocator, "libjemalloc", "libtcmalloc", "libmimalloc")
	if err != nil {
		return nil, err
	}
	// mariadb-server is unpacked for its files; its dependencies (perl, init systems) are not wanted.
	walk := slices.DeleteFunc(append(slices.Clone(roots), allocators...), func(n string) bool { return n == siblings[0] })
	text, err := a.run(ctx, a.dir, "apt-cache", append([]string{"depends", "--recurse", "--important"}, walk...)...)
	if err != nil {
		return nil, err
	}
	exact := make([]string, len(roots))
	for i, r := range roots {
		exact[i] = r + "=" + o.pkgVersion
	}
	rootText, err := a.run(ctx, a.dir, "apt-cache", append([]string{"show"}, exact...)...)
	if err != nil {
		return nil, err
	}
	libText, err := a.run(ctx, a.dir, "apt-cache", append([]string{"show", "--no-all-versions"}, append(parseDepends(text), allocators...)...)...)
	if err != nil {
		return nil, err
	}
	index := append(parseDebs(rootText), parseDebs(libText)...)
	debs := closure(append(roots, allocators...), index)
	if len(debs) == 0 || debs[0].Version != o.pkgVersion {
		return nil, fmt.Errorf("%s %s: not in the package lists of %s", o.pkg, o.pkgVersion, a.suite)
	}
	return debs, nil
}

// fetchApt installs an offer of a Debian suite.
func (c *Cache) fetchApt(ctx context.Context, name string, o Offer) (lab.Build, error) {
	a := c.apt(o.suite)
	return c.install(ctx, folderOf(name), func(stage string) (lab.Build, error) {
		began := time.Now()
		debs, err := c.download(ctx, a, o, filepath.Join(stage, "debs"))
		if err != nil {
			return lab.Build{}, err
		}
		if err := unpack(ctx, filepath.Join(stage, "debs"), stage); err != nil {
			return lab.Build{}, err
		}
		b, err := describe(ctx, name, stage)
		if err != nil {
			return lab.Build{}, err
		}
		b.Origin = o.Origin
		for _, d := range debs {
			b.Packages = append(b.Packages, d.Package)
		}
		b.ID = packagesID(b.Packages)
		c.logf("%s: %s from %s, %.0f s", name, b.Version, o.Origin, time.Since(began).Seconds())
		return b, nil
	})
}

// download brings an offer's packages into dir, each with the digest of the index. When a
// package is gone from the mirror, the lists are too old: they are fetched once more. What
// the mirror still does not have and the server can do without is then left out.
func (c *Cache) download(ctx context.Context, a apt, o Offer, dir string) ([]deb, error) {
	debs, err := a.plan(ctx, o)
	if err == nil {
		err = c.getDebs(ctx, a, debs, dir)
	}
	if err == nil || ctx.Err() != nil {
		return debs, err
	}
	main, security, srcErr := readSources(ctx)
	if srcErr != nil {
		return nil, err
	}
	c.logf("%s: %v", o.Name, err)
	if err := c.update(ctx, a, main, security, true); err != nil {
		return nil, err
	}
	if debs, err = a.plan(ctx, o); err != nil {
		return nil, err
	}
	if err = c.getDebs(ctx, a, debs, dir); err == nil {
		return debs, nil
	}
	kept := slices.DeleteFunc(slices.Clone(debs), func(d deb) bool {
		if !isOptional(d.Name) || c.getDebs(ctx, a, []deb{d}, filepath.Join(dir, "alone")) == nil {
			return false
		}
		c.logf("%s: left out %s %s, which the mirror lists and does not have", o.Name, d.Name, d.Version)
		return true
	})
	if err := os.RemoveAll(filepath.Join(dir, "alone")); err != nil {
		return nil, err
	}
	if len(kept) == len(debs) {
		return nil, err
	}
	return kept, c.getDebs(ctx, a, kept, dir)
}

// isOptional reports whether a server starts without a package: plugins and allocators.
func isOptional(pkg string) bool {
	return strings.Contains(pkg, "-plugin-") || isAllocator(pkg)
}

// getDebs downloads packages into dir, less what is there already, and leaves there just
// those files that have the digests of the index.
func (c *Cache) getDebs(ctx context.Context, a apt, debs []deb, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unwritable(err)
	}
	want := map[string]string{}
	args := []string{"download"}
	var size int64
	for _, d := range debs {
		args = append(args, d.Name+"="+d.Version)
		want[d.SHA256] = d.Name
		n, _ := lab.ParseBytes(d.size)
		size += n
	}
	c.logf("%s: downloading %d packages, %.1f MB", a.suite, len(debs), float64(size)/1e6)
	if _, err := a.run(ctx, dir, "apt-get", args...); err != nil {
		return err
	}
	for _, f := range glob(dir, "*") {
		sum, err := fileSHA256(f)
		if err != nil {
			return err
		}
		if want[sum] == "" {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
		delete(want, sum)
	}
	if len(want) > 0 {
		return fmt.Errorf("apt-get download: no file has the SHA-256 that the package lists say of %s", strings.Join(slices.Sorted(maps.Values(want)), ", "))
	}
	return nil
}

// unpack unpacks the packages in dir below root and removes dir. What lies in them is held
// to the same rules as tarballs are, so that no package, and no two of them together, can
// write beside the tree.
func unpack(ctx context.Context, dir, root string) error {
	x, err := newExtraction(root)
	if err != nil {
		return err
	}
	defer x.root.Close()
	x.rooted = true
	for _, f := range glob(dir, "*.deb") {
		if err := x.unpackDeb(ctx, f); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(f), err)
		}
	}
	return os.RemoveAll(dir)
}

// unpackDeb has dpkg-deb take a package apart, and unpacks its files.
func (x *extraction) unpackDeb(ctx context.Context, file string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := proc.Output(ctx, proc.Command{Args: []string{"dpkg-deb", "--fsys-tarfile", file}, Stdout: w})
		w.CloseWithError(err)
		done <- err
	}()
	err := x.extract(ctx, r)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what pads the end
	}
	r.CloseWithError(err)
	if cause := <-done; err == nil || errors.Is(err, cause) {
		return cause
	}
	return err
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return openSHA256(f)
}

// openSHA256 reads an open file to its end, and goes back to its start.
func openSHA256(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
