package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// bareArgument makes this program a server that knows nothing but one body: with an address and the file of the body.
const bareArgument = "bare"

// serveBare writes the same bytes for every path, by net/http and nothing else. No server in Go is faster that answers
// through net/http.
func serveBare(ctx context.Context, addr, file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return serveUntil(ctx, addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone hears nothing
	}))
}

// others compares the active version of a prompt with what two other servers do for such a read: one that has no
// database, and PocketBase, a backend in one binary on SQLite, whose collections hold the same prompt and whose rule
// asks for the same membership. Its rows on PostgreSQL are for the first only.
func others(ctx context.Context, m *machine) error {
	pocketbase := filepath.Join(m.dir, "pocketbase")
	build := exec.CommandContext(ctx, "go", "build", "-C", "tools/bench/pocketbase", "-trimpath", "-ldflags",
		"-s -w", "-o", pocketbase, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build PocketBase: %w\n%s", err, out)
	}
	m.section("Other servers", "", "answers", "Atrium / it", "p50, p99")
	return m.onEach(ctx, "others", func(d database, data string) error { return m.othersOn(ctx, d, data, pocketbase) })
}

func (m *machine) othersOn(ctx context.Context, d database, data, pocketbase string) error {
	b, err := m.serveBeside(ctx, d, data)
	if err != nil {
		return err
	}
	defer b.stop()
	read := newTarget(b.atrium, b.prompt.active(), b.owner.Token)
	contestants := []*contestant{{name: "Atrium", target: read}}

	_, body, err := b.atrium.get(ctx, b.prompt.active(), b.owner.Token)
	if err != nil {
		return err
	}
	file := filepath.Join(m.dir, "body-"+d.driver)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return err
	}
	bare, err := m.serveSelf(ctx, bareArgument, database{url: file})
	if err != nil {
		return err
	}
	defer bare.stop()
	contestants = append(contestants,
		&contestant{name: "bare `net/http`, no database", target: newTarget(bare, b.prompt.active(), b.owner.Token)})

	if d.driver == "sqlite" {
		p, read, err := m.servePocketBase(ctx, pocketbase)
		if err != nil {
			return err
		}
		defer p.stop()
		contestants = append(contestants, &contestant{name: "PocketBase", target: read})
	}
	if err := m.inRounds(ctx, 16, contestants); err != nil {
		return err
	}
	for _, c := range contestants {
		m.row(d.named()+", "+c.name, c.rate(), ratio(1/median(c.ratios)), c.percentiles())
	}
	return nil
}

// servePocketBase starts PocketBase, and returns it with the read that it is measured by.
func (m *machine) servePocketBase(ctx context.Context, binary string) (*program, target, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, target{}, err
	}
	folder := filepath.Join(m.dir, "pocketbase-data")
	p, err := start(ctx, exec.CommandContext(ctx, binary, addr, folder), addr, "/api/health", folder+".log")
	if err != nil {
		return nil, target{}, err
	}
	var read struct{ Path, Token string }
	text, err := os.ReadFile(filepath.Join(folder, "read.json"))
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		p.stop()
		return nil, target{}, err
	}
	status, answer, err := p.get(ctx, read.Path, read.Token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("PocketBase responded with %d: %s", status, answer)
	}
	if err != nil {
		p.stop()
		return nil, target{}, err
	}
	return p, newTarget(p, read.Path, read.Token), nil
}
