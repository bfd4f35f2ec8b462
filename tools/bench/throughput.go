package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// contest is what throughput found on an engine, with so many connections.
type contest struct {
	where       string
	contestants []*contestant
}

// throughput compares how often a second Atrium and the floor answer the read that applications repeat all
// day, the active version of a prompt; and, with the same floor, how often Atrium tells callers who they
// are, which is little more than proving it. Each sends one credential again and again, as applications
// do: what Atrium remembers of it for a moment is part of what is measured.
func throughput(ctx context.Context, m *machine) error {
	i, err := startIssuer(ctx)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	defer i.stop()
	var held []contest
	err = m.onEach(ctx, "throughput", func(d database, data string) error {
		more, err := m.throughputOn(ctx, d, data, i)
		held = append(held, more...)
		return err
	})
	if err != nil {
		return err
	}
	m.section("The active version of a prompt", "", "floor", "Atrium", "Atrium / floor (aim ≥ 1.4, 2.5)",
		"p50, p99 of the floor", "p50, p99 of Atrium")
	for _, h := range held {
		floor, read := h.contestants[0], h.contestants[1]
		m.row(h.where, floor.rate(), read.rate(), read.ratio(), floor.percentiles(), read.percentiles())
	}
	m.section("Authentication", "", "by API key", "/ floor (aim ≥ 0.7)", "by JWT", "/ floor (aim ≥ 0.6)",
		"p50, p99 by API key", "p50, p99 by JWT")
	for _, h := range held {
		key, jwt := h.contestants[2], h.contestants[3]
		m.row(h.where, key.rate(), key.ratio(), jwt.rate(), jwt.ratio(), key.percentiles(), jwt.percentiles())
	}
	return nil
}

func (m *machine) throughputOn(ctx context.Context, d database, data string, i *issuer) (held []contest, err error) {
	config, err := m.trusting(i)
	if err != nil {
		return nil, err
	}
	b, err := m.serveBeside(ctx, d, data, "--config", config)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	if err := sameAnswer(ctx, b.floor, b.atrium, b.prompt.active(), b.owner.Token); err != nil {
		return nil, err
	}
	jwt, err := signIn(ctx, b.atrium, i)
	if err != nil {
		return nil, err
	}
	for _, connections := range []int{16, 64} {
		contestants := []*contestant{
			{name: "active version, floor", target: newTarget(b.floor, b.prompt.active(), b.owner.Token)},
			{name: "active version, Atrium", target: newTarget(b.atrium, b.prompt.active(), b.owner.Token)},
			{name: "/api/me by API key", target: newTarget(b.atrium, me, b.owner.Token)},
			{name: "/api/me by JWT", target: newTarget(b.atrium, me, jwt)},
		}
		if err := m.inRounds(ctx, connections, contestants); err != nil {
			return nil, err
		}
		held = append(held, contest{fmt.Sprintf("%s, %d connections", d.named(), connections), contestants})
	}
	return held, nil
}

// trusting writes a configuration with one org, which accepts the issuer's tokens and gives each new user a
// workspace, because the owner of the API key has one too. It returns the file's path.
func (m *machine) trusting(i *issuer) (path string, err error) {
	path = filepath.Join(m.dir, "atrium.yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil,
		"orgs: [{slug: default, issuers: [{url: %q, audiences: [%s]}], personal_workspaces: true, sign_up: open}]\n",
		i.url, audience), 0o600)
}

// me answers whose credential it was asked with.
const me = "/api/me"

// signIn signs somebody in for the first time, so that no load has to, and returns their token.
func signIn(ctx context.Context, p *program, i *issuer) (token string, err error) {
	if token, err = i.token(); err != nil {
		return "", err
	}
	status, answer, err := p.get(ctx, me, token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s by JWT: %d %s", me, status, answer)
	}
	return token, err
}

// published is a prompt with two versions, the second of which is active.
type published struct {
	id       string
	versions [2]string
}

const promptsPath = "/api/prompt-templates"

func (p published) path() string   { return promptsPath + "/" + p.id }
func (p published) active() string { return p.path() + "/versions/active" }

// publish makes a prompt of an ordinary size.
func publish(ctx context.Context, p *program, token, name string) (out published, err error) {
	var made struct {
		ID string `json:"id"`
	}
	if err := p.post(ctx, promptsPath, token, fmt.Sprintf(`{"name":%q,"visibility":"workspace","tags":["sales"]}`,
		name), &made); err != nil {
		return out, err
	}
	out.id = made.ID
	for i, labels := range []string{`["staging"]`, `["production"]`} {
		if err := p.post(ctx, out.path()+"/versions", token, versionBody(labels), &made); err != nil {
			return out, err
		}
		out.versions[i] = made.ID
	}
	return out, p.post(ctx, out.path()+"/versions/"+out.versions[1]+"/activate", token, "{}", &made)
}

// versionBody makes a version with a text of 1 KB and three variables.
func versionBody(labels string) string {
	text := "Summarise this call with {{customer}} in {{language}}.\n\n" +
		strings.Repeat("Name who asked what, and what was promised. ", 20) + "\n\n{{transcript}}\n"
	body, _ := json.Marshal(map[string]any{ // of strings and numbers, which cannot fail
		"text": text, "labels": json.RawMessage(labels), "commit_message": "Name who asked",
		"variables": []map[string]any{
			{"name": "customer", "type": "string"}, {"name": "language", "type": "string", "description": "In English"},
			{"name": "transcript", "type": "string"},
		},
		"model_config": map[string]any{"provider": "openai", "model_name": "gpt-5-mini", "temperature": 0.2,
			"max_tokens": 600},
	})
	return string(body)
}

// sameAnswer makes sure that both do the same: what differs cannot be compared.
func sameAnswer(ctx context.Context, floor, atrium *program, path, token string) error {
	status, want, err := atrium.get(ctx, path, token)
	if err != nil {
		return err
	}
	floorStatus, got, err := floor.get(ctx, path, token)
	if err != nil {
		return err
	}
	if status != http.StatusOK || floorStatus != status || !bytes.Equal(got, want) {
		return fmt.Errorf("the answers differ: Atrium's is\n%d %s\nand the floor's\n%d %s", status, want,
			floorStatus, got)
	}
	return nil
}
