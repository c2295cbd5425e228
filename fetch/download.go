package fetch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// get downloads a URL into a file of dir and returns that file, open at its start. It has
// no name any more, so it goes when it is closed.
func (c *Cache) get(ctx context.Context, from, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "download"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	c.logf("tar: downloading %s", from)
	err = os.Remove(f.Name())
	if err == nil {
		err = c.receive(ctx, from, f, dir)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("download %s: %w", from, err)
	}
	return f, nil
}

// receive writes what a URL leads to into w, if the disk of dir has room for it. It gives up
// when nothing comes for a while: a server that has gone silent would be waited for for ever.
func (c *Cache) receive(ctx context.Context, from string, w io.Writer, dir string) error {
	room, err := freeBytes(dir)
	if err != nil {
		return err
	}
	stall := cmp.Or(c.stall, time.Minute)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %s", stall)) })
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", resp.Status)
	}
	if resp.ContentLength > room {
		return fmt.Errorf("it has %d bytes, and the disk of the cache has room for %d", resp.ContentLength, room)
	}
	_, err = io.Copy(w, io.TeeReader(resp.Body, tick(func() { silent.Reset(stall) })))
	return because(ctx, err)
}

// because returns err, or why ctx ended if that is the reason for it.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// tick is a writer that is told of every write and keeps nothing.
type tick func()

// Write is io.Writer's.
func (t tick) Write(p []byte) (int, error) {
	t()
	return len(p), nil
}

// withoutUser returns a build's name without the user and the password that a URL in it may
// hold, for messages.
func withoutUser(name string) string {
	at, scheme := strings.LastIndex(name, "@"), strings.Index(name, "://")
	if !strings.HasPrefix(name, "tar:") || scheme < 0 || at < scheme {
		return name
	}
	return name[:scheme+3] + "…" + name[at:]
}
