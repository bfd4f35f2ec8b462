// Command load measures Atrium and prints the tables of docs/benchmarks.md. Requests a second say more
// about the machine than about Atrium, so what counts are ratios of two that were taken in the same run,
// in turns. It passes no judgement: it fails only where it cannot measure.
//
//	go run ./tools/bench                          # everything, in some 17 minutes
//	go run ./tools/bench -only payments,streams   # parts of it
//	go run ./tools/bench -engine sqlite -round 500ms
//	go run ./tools/bench -into docs/benchmarks.md
//
// PostgreSQL is the one that TEST_POSTGRES_URL names, or one of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"
)

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

// part is what can be measured by itself.
type part struct {
	name    string
	tables  []string // that it prints
	measure func(context.Context, *machine) error
}

// parts are all of them, in the order in which they run: one after the other, or they would disturb
// each other.
var parts = []part{
	{"throughput", []string{"The active version of a prompt", "Authentication"}, throughput},
	{"cold", []string{"The same with nothing cached"}, cold},
	{"others", []string{"Other servers"}, others},
	{"sessions", []string{"Sessions"}, sessions},
	{"operations", []string{"Operations", "Mixed load"}, operations},
	{"idempotency", []string{"Idempotency keys"}, idempotency},
	{"nodes", []string{"Several nodes"}, nodes},
	{"events", []string{"Recording", "Deliveries"}, events},
	{"growth", []string{"Large workspaces"}, growth},
	{"payments", []string{"Payments", "Reads of payments"}, payments},
	{"gateway", []string{"Calls to Stripe"}, gatewayCalls},
	{"heartbeats", []string{"Heartbeats"}, heartbeats},
	{"streams", []string{"Streams"}, streams},
	{"relay", []string{"Answers to visitors"}, relay},
	{"written", []string{"What presence writes"}, written},
	{"connections", []string{"2,000 connections"}, manyConnections},
	{"startup", []string{"Starting, and memory"}, startup},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run measures, or is one of the processes that a measurement starts: its own binary with special arguments.
func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == floorArgument {
		return serveFloor(ctx, args[1], args[2])
	}
	if len(args) == 3 && args[0] == bareArgument {
		return serveBare(ctx, args[1], args[2])
	}
	if len(args) == 3 && args[0] == authenticatorArgument {
		return authenticate(ctx, args[1], args[2])
	}
	if len(args) == 3 && args[0] == simulatorArgument {
		return serveSimulator(ctx, args[1], args[2])
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	only := flags.String("only", strings.Join(names, ","), "what to measure, with commas between")
	driver := flags.String("engine", "", "sqlite or postgres alone")
	round := flags.Duration("round", time.Second, "how long each of those that take turns is loaded at a time")
	into := flags.String("into", "", "a document whose tables of the same names take the figures over, such as "+
		"docs/benchmarks.md")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var chosen []part
	for name := range strings.SplitSeq(*only, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("-only %s: there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, parts[i])
	}
	if *into != "" {
		if *driver != "" {
			return errors.New("-into needs the rows of both engines")
		}
		if err := hasKnownTables(*into); err != nil { // rather than at the end
			return err
		}
	}
	return bench(ctx, chosen, *driver, *round, *into)
}

// bench takes the chosen measurements. What one of them fails by does not keep the others from being taken.
func bench(ctx context.Context, chosen []part, driver string, round time.Duration, into string) (err error) {
	dir, err := os.MkdirTemp("", "atrium-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := buildAtrium(ctx, dir)
	if err != nil {
		return err
	}
	engines, closeAll, err := openEngines(ctx, driver)
	if err != nil {
		return err
	}
	defer closeAll()

	m := &machine{dir: dir, binary: binary, engines: engines, round: round}
	fmt.Printf("%s, %d cores, rounds of %s\n", runtime.Version(), runtime.NumCPU(), round)
	var failures []error
	for _, p := range chosen {
		begun, taken := time.Now(), len(m.tables)
		err := p.measure(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
			m.tables, failures = m.tables[:taken], append(failures, err)
			fmt.Printf("\n(%v)\n", err)
		}
		fmt.Printf("\n(%s: %.0f s)\n", p.name, time.Since(begun).Seconds())
	}
	if into != "" {
		failures = append(failures, m.write(into))
	}
	return errors.Join(failures...)
}
