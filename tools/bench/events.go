package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// events measures what recording costs the operations that do it, and what a delivery of a webhook takes.
func events(ctx context.Context, m *machine) error {
	silent, err := m.buildSilent(ctx)
	if err != nil {
		return err
	}
	config := filepath.Join(m.dir, "events.yaml")
	const quotas = "    quotas: {prompt_templates: 1000000, prompt_versions: 1000000}\n"
	if err := os.WriteFile(config, []byte(operationsConfig+quotas), 0o600); err != nil {
		return err
	}
	m.section("Recording", "", "", "without events", "Atrium", "Atrium / without (aim ≥ 0.95)", "CPU without", "CPU")
	if err := m.onEach(ctx, "recording", func(d database, data string) error {
		return d.use(ctx, data+"-silent", func(other database) error {
			return m.recordingOn(ctx, recordingServers{d, other, data, silent, config})
		})
	}); err != nil {
		return err
	}
	m.section("Deliveries", "", "webhooks", "deliveries", "a second", "CPU of a delivery")
	return m.onEach(ctx, "deliveries", func(d database, data string) error {
		return m.deliveriesOn(ctx, d, data, config)
	})
}

// buildSilent builds an Atrium that records no events, which nothing but this comparison has: the function that makes
// their writes returns none.
func (m *machine) buildSilent(ctx context.Context) (binary string, err error) {
	const path, function = "adapters/sqlstore/db/event_record.go", "([]Write, error) {\n\td := db.Digester()\n"
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed := bytes.Replace(source, []byte(function),
		[]byte("([]Write, error) {\n\tfor _, e := range events {\n\t\tdb.DeclareChange(e.Workspace)\n\t}\n"+
			"\tif db != nil {\n\t\treturn nil, nil\n\t}\n\td := db.Digester()\n"), 1)
	if bytes.Equal(changed, source) {
		return "", errors.New(path + " has changed: say here how no events are written")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	replaced, overlay := filepath.Join(m.dir, "events.go"), filepath.Join(m.dir, "overlay.json")
	names, err := json.Marshal(map[string]any{"Replace": map[string]string{full: replaced}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(replaced, changed, 0o600), os.WriteFile(overlay, names, 0o600)); err != nil {
		return "", err
	}
	binary = filepath.Join(m.dir, "atrium-silent")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-ldflags", "-s -w", "-o",
		binary, "./cmd/atrium")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build without events: %w\n%s", err, out)
	}
	return binary, nil
}

// recordingServers are where the two servers of the comparison run.
type recordingServers struct {
	d, other             database
	data, silent, config string
}

func (m *machine) recordingOn(ctx context.Context, s recordingServers) error {
	quiet := *m
	quiet.binary = s.silent
	without, stop, err := quiet.serveWriters(ctx, s.other, s.data+"-silent", s.config)
	if err != nil {
		return err
	}
	defer stop()
	with, stopWith, err := m.serveWriters(ctx, s.d, s.data, s.config)
	if err != nil {
		return err
	}
	defer stopWith()
	bare, full := without.writes(), with.writes()
	for i := range bare {
		pair := []*contestant{bare[i], full[i]}
		if err := m.inRounds(ctx, 16, pair); err != nil {
			return err
		}
		_, cpuBare := bare[i].each()
		_, cpu := full[i].each()
		m.row(full[i].name, s.d.named(), bare[i].rate(), full[i].rate(), full[i].ratio(), cpuBare, cpu)
	}
	return nil
}

// serveWriters starts Atrium with some prompts and chats.
func (m *machine) serveWriters(ctx context.Context, d database, data, config string) (*workspace, func(), error) {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return nil, nil, err
	}
	atrium, err := m.serveAtrium(ctx, d, data, "--config", config)
	if err != nil {
		return nil, nil, err
	}
	w := &workspace{program: atrium, owner: owner}
	for i := range 10 {
		p, err := publish(ctx, atrium, owner.Token, fmt.Sprintf("sales/prompt-%d", i))
		if err != nil {
			atrium.stop()
			return nil, nil, err
		}
		w.prompts = append(w.prompts, p)
	}
	for range manyChats {
		var made struct{ ID string }
		if err := atrium.post(ctx, chatsPath, owner.Token, `{"name":"Support"}`, &made); err != nil {
			atrium.stop()
			return nil, nil, err
		}
		w.chats = append(w.chats, chatsPath+"/"+made.ID)
	}
	return w, atrium.stop, nil
}

// writes are operations that record events.
func (w *workspace) writes() []*contestant {
	created := w.repeats()
	created.make = func(n int64) []byte {
		return w.request("POST", promptsPath, w.owner.Token, fmt.Sprintf(`{"name":"created/%d"}`, n))
	}
	all := []*contestant{
		{name: "prompts: `POST`", target: created},
		{name: "prompts: `POST` version, idempotent", target: w.versions(true)},
		{name: "prompts: `POST activate`", target: w.activations()},
		{name: "chats: `PATCH` one", target: w.greetings()},
	}
	for _, c := range all {
		c.of = w.program
	}
	return all
}

const (
	hooksOfBench  = 20
	eventsOfBench = 200 // about manyChats subjects
)

// deliveriesOn causes events, waits until 20 webhooks have them, and measures a replay of all.
func (m *machine) deliveriesOn(ctx context.Context, d database, data, config string) error {
	w, stop, err := m.serveWriters(ctx, d, data, config)
	if err != nil {
		return err
	}
	defer stop()
	var arrived atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	hooks := make([]string, hooksOfBench)
	for i := range hooks {
		var made struct{ ID string }
		if err := w.post(ctx, "/api/webhooks", w.owner.Token,
			fmt.Sprintf(`{"url":%q,"events":["chat_template.updated"]}`, receiver.URL), &made); err != nil {
			return err
		}
		hooks[i] = "/api/webhooks/" + made.ID
	}
	for i := range eventsOfBench {
		status, answer, err := w.send(ctx, http.MethodPatch, w.chats[i%len(w.chats)], w.owner.Token,
			fmt.Sprintf(`{"greeting":"Hello %d!"}`, i))
		if err != nil || status != http.StatusOK {
			return errors.Join(err, fmt.Errorf("PATCH: %d %s", status, answer))
		}
	}
	const all = hooksOfBench * eventsOfBench
	await := func(n int64) error {
		for late := time.Now().Add(5 * time.Minute); arrived.Load() < n; time.Sleep(time.Millisecond) {
			if ctx.Err() != nil || time.Now().After(late) {
				return fmt.Errorf("%d of %d deliveries have arrived", arrived.Load(), n)
			}
		}
		return nil
	}
	if err := await(all); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // the last ones are saved
	before, err := w.usage(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	for _, hook := range hooks {
		var queued struct{ Queued int }
		if err := w.post(ctx, hook+"/replay", w.owner.Token, `{"from":1}`, &queued); err != nil {
			return err
		}
		if queued.Queued != eventsOfBench {
			return fmt.Errorf("%d events are replayed", queued.Queued)
		}
	}
	if err := await(2 * all); err != nil {
		return err
	}
	took := time.Since(begun)
	after, err := w.usage(ctx)
	if err != nil {
		return err
	}
	m.row(strings.TrimSuffix(d.named(), ","), fmt.Sprint(hooksOfBench), fmt.Sprint(all),
		perSecond(all/took.Seconds()), fmt.Sprintf("%.0f µs", after.since(before).cpu/all*1e6))
	return nil
}
