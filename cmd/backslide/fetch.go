package main

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"backslide/fetch"
	"backslide/lab"
)

// cache returns the cache of builds, which tells its progress on standard error.
func (e *env) cache() (*fetch.Cache, error) {
	dir, err := filepath.Abs(e.cacheDir)
	if err != nil {
		return nil, err
	}
	return &fetch.Cache{Dir: dir, Log: func(format string, args ...any) { fmt.Fprintf(harmless{e.stderr}, format+"\n", args...) }}, nil
}

func newBuilds(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "builds",
		Short: "List the builds that can be fetched here and those that are installed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.cache()
			if err != nil {
				return err
			}
			offers, offersErr := c.Available(cmd.Context())
			installed, err := c.Installed()
			if err != nil {
				fmt.Fprintf(harmless{e.stderr}, "note: %v\n", err)
			}
			have := map[string]lab.Build{}
			for _, b := range installed {
				have[b.Name] = b
			}
			w := tabwriter.NewWriter(harmless{e.stdout}, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "build\tversion\tfrom\tinstalled")
			for _, o := range offers {
				mark := ""
				if b, ok := have[o.Name]; ok {
					mark = b.Version
					delete(have, o.Name)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.Name, o.Version, o.Origin, mark)
			}
			for _, b := range installed {
				if _, ok := have[b.Name]; ok {
					fmt.Fprintf(w, "%s\t\t%s\t%s\n", b.Name, b.Origin, b.Version)
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if offersErr != nil && len(offers)+len(installed) > 0 {
				fmt.Fprintf(harmless{e.stderr}, "note: %v\n", offersErr)
				return nil
			}
			return offersErr
		},
	}
}

func newFetch(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "fetch BUILD…",
		Short: "Fetch server builds into the cache",
		Example: `  backslide fetch mariadb@10.5 mariadb@11.8 mysql@9.7
  backslide fetch dir:/opt/mysql-8.0
  backslide fetch 'tar:mysql-8.4.tar.xz#sha256=…'`,
		Args: atLeastOne("the names of builds (backslide builds lists them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			builds, err := e.builds(cmd.Context(), args)
			if err != nil {
				return err
			}
			for _, name := range args {
				b := builds[name]
				fmt.Fprintf(harmless{e.stdout}, "%s: %s %s, %s, id %.12s\n", name, b.Family, b.Version, b.Origin, b.ID)
			}
			return nil
		},
	}
}

// builds fetches builds and checks that they can be loaded here. Keys are the names.
func (e *env) builds(ctx context.Context, names []string) (map[string]lab.Build, error) {
	c, err := e.cache()
	if err != nil {
		return nil, err
	}
	out := map[string]lab.Build{}
	for _, name := range names {
		b, err := c.Build(ctx, name)
		if err != nil {
			return nil, err
		}
		if err := fetch.Preflight(b); err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, nil
}

// preloads finds the allocators that configs name, and fetches those that builds lack.
func (e *env) preloads(ctx context.Context, s *setup) error {
	c, err := e.cache()
	if err != nil {
		return err
	}
	for _, cfg := range s.Configs {
		for name, b := range s.builds {
			if s.builds[name], err = c.WithPreload(ctx, b, cfg.Preload); err != nil {
				return fmt.Errorf("config %s: %w", cfg.Name, err)
			}
		}
	}
	return nil
}
