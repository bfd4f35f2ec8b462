// Command load measures Atrium and prints a table. Requests a second say more about the machine
// than about Atrium, so every figure but those of starting up is a ratio of two that were taken in
// the same run, in turns. It passes no judgement: it fails only where it cannot measure.
//
//	go run ./test/load
//
// PostgreSQL is the one that TEST_POSTGRES_URL names, or one of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"text/tabwriter"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"
)

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == floorArgument {
		return serveFloor(ctx, args[1], args[2])
	}
	return bench(ctx)
}

// bench takes every measurement, one after the other: they would disturb each other.
func bench(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "atrium-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "atrium")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/atrium")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build ./cmd/atrium: %w\n%s", err, out)
	}
	engines, closeAll, err := openEngines(ctx)
	if err != nil {
		return err
	}
	defer closeAll()

	m := &machine{dir: dir, binary: binary}
	fmt.Printf("%s, %d cores\n\n", runtime.Version(), runtime.NumCPU())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer func() { err = errors.Join(err, table.Flush()) }()
	steps := []func(context.Context, *machine, []engine, *tabwriter.Writer) error{throughput, lists, startup}
	for _, step := range steps {
		if err := step(ctx, m, engines, table); err != nil {
			return err
		}
		fmt.Fprintln(table)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}
