package node

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/configs"
)

// confineChildren protects a server's memory from other processes of its user. If the kernel lacks a part of the
// confinement of child processes, it logs that, or returns an error if the configuration is strict.
func confineChildren(c configs.Config, log *slog.Logger) error {
	if err := confine.Hide(); err != nil {
		return err
	}
	missing := confine.Missing()
	if len(missing) == 0 {
		return nil
	}
	if c.Children.Confine == configs.Strict {
		return NotConfined(missing)
	}
	log.Warn("the kernel lacks parts of the confinement of child processes", "missing", missing)
	return nil
}

// NotConfined returns the error for a system that lacks parts of the confinement of child processes.
func NotConfined(missing []string) error {
	return fmt.Errorf("children.confine is strict, and this system lacks: %s", strings.Join(missing, "; "))
}
