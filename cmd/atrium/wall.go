package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/configs"
)

// raiseWall protects the memory of a server from other processes of its user. If the kernel lacks a part of the
// confinement of child processes, it logs that, or returns an error if the configuration is strict.
func raiseWall(c configs.Config, log *slog.Logger) error {
	if err := confine.Hide(); err != nil {
		return err
	}
	missing := confine.Missing()
	if len(missing) == 0 {
		return nil
	}
	if c.Children.Confine == configs.Strict {
		return errWall(missing)
	}
	log.Warn("the kernel lacks parts of the confinement of child processes", "missing", missing)
	return nil
}

func errWall(missing []string) error {
	return fmt.Errorf("children.confine is strict, and this system lacks: %s", strings.Join(missing, "; "))
}

// checkChildren checks whether the kernel has all parts of the confinement of child processes.
func checkChildren(c configs.Config) finding {
	missing := confine.Missing()
	switch {
	case len(missing) == 0:
		return good("children", "the kernel has Landlock and seccomp")
	case c.Children.Confine == configs.Strict:
		return bad("children", errWall(missing))
	}
	return finding{Check: "children", OK: true, Warning: true, Note: "this system lacks: " + strings.Join(missing, "; ")}
}
