package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	rounds   = 5
	roundFor = 2 * time.Second
	warmUp   = 2 * time.Second
)

// throughput compares how often a second Atrium and the floor answer the read that applications
// repeat all day, the active version of a prompt; and, with the same floor, how often Atrium tells
// callers who they are, which is little more than proving it, opens sessions of embedded chats, which
// is a look-up by hash and a seal, and lists as many connections as a workspace may have, which is
// fifty times the work. Each but the sessions sends one credential again and again, as applications
// do: what Atrium remembers of it for a moment is part of what is measured.
func throughput(ctx context.Context, m *machine, engines []engine, table *tabwriter.Writer) error {
	i, err := startIssuer(ctx)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	defer i.stop()
	fmt.Fprintln(table, "Request\tanswers\tof the floor's (median of rounds)\tp50\tp99")
	for _, e := range engines {
		data := filepath.Join(m.dir, "throughput-"+e.driver)
		if err := e.use(ctx, data, func(d database) error { return m.throughputOn(ctx, d, data, i, table) }); err != nil {
			return fmt.Errorf("throughput on %s: %w", e.driver, err)
		}
	}
	return nil
}

func (m *machine) throughputOn(ctx context.Context, d database, data string, i *issuer, table *tabwriter.Writer) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	if err := connect(ctx, d, owner); err != nil {
		return fmt.Errorf("connections: %w", err)
	}
	config, err := m.trusting(i)
	if err != nil {
		return err
	}
	atrium, err := m.serveAtrium(ctx, d, data, "--config", config)
	if err != nil {
		return err
	}
	defer atrium.stop()
	path, err := publish(ctx, atrium, owner.Token)
	if err != nil {
		return err
	}
	floor, err := m.serveFloor(ctx, d)
	if err != nil {
		return err
	}
	defer floor.stop()
	if err := sameAnswer(ctx, floor, atrium, path, owner.Token); err != nil {
		return err
	}
	jwt, err := signIn(ctx, atrium, i)
	if err != nil {
		return err
	}
	sessions, err := exchange(ctx, atrium, owner.Token)
	if err != nil {
		return err
	}
	for _, connections := range []int{16, 64} {
		contestants := []*contestant{
			{name: "active version, floor", target: newTarget(floor, path, owner.Token)},
			{name: "active version, Atrium", target: newTarget(atrium, path, owner.Token)},
			{name: "/api/me by API key", target: newTarget(atrium, me, owner.Token)},
			{name: "/api/me by JWT", target: newTarget(atrium, me, jwt)},
			{name: "embed session", target: sessions},
			{name: "list of 50 connections", target: newTarget(atrium, "/api/connections", owner.Token)},
		}
		if err := inRounds(ctx, connections, contestants); err != nil {
			return err
		}
		for _, c := range contestants {
			slices.Sort(c.took)
			fmt.Fprintf(table, "%s, %d connections, %s\t%.0f/s\t%.2f\t%s\t%s\n", d.driver, connections, c.name,
				median(c.perSecond), median(c.ratios), ms(percentile(c.took, 50)), ms(percentile(c.took, 99)))
		}
	}
	return nil
}

// contestant is a target with what was measured of it.
type contestant struct {
	name string
	target
	took      []time.Duration
	perSecond []float64 // of each round
	ratios    []float64 // of each round, to the first contestant
}

// inRounds loads each of them in turn, again and again, after a round that warms up.
func inRounds(ctx context.Context, connections int, contestants []*contestant) error {
	for _, c := range contestants {
		if _, err := c.load(ctx, connections, warmUp); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range rounds {
		for _, c := range contestants {
			took, err := c.load(ctx, connections, roundFor)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.took = append(c.took, took...)
			c.perSecond = append(c.perSecond, float64(len(took))/roundFor.Seconds())
			c.ratios = append(c.ratios, c.perSecond[round]/contestants[0].perSecond[round])
		}
	}
	return nil
}

// trusting writes a configuration whose only org takes the issuer's tokens, and gives whoever
// first brings one a workspace, as the owner of the API key has one. It returns the file's path.
func (m *machine) trusting(i *issuer) (path string, err error) {
	path = filepath.Join(m.dir, "atrium.yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil,
		"orgs: [{slug: default, issuers: [{url: %q, audiences: [%s]}], personal_workspaces: true}]\n", i.url, audience), 0o600)
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

// publish makes a prompt of an ordinary size with an active version, and returns the path that
// reads it.
func publish(ctx context.Context, p *program, token string) (path string, err error) {
	var template, version struct {
		ID string `json:"id"`
	}
	if err := p.post(ctx, "/api/prompt-templates", token, `{"name":"sales/summarise-call","visibility":"workspace","tags":["sales"]}`, &template); err != nil {
		return "", err
	}
	path = "/api/prompt-templates/" + template.ID + "/versions/"
	text := "Summarise this call with {{customer}} in {{language}}.\n\n" + strings.Repeat("Name who asked what, and what was promised. ", 20) + "\n\n{{transcript}}\n"
	body, err := json.Marshal(map[string]any{
		"text": text, "labels": []string{"production"}, "commit_message": "Name who asked",
		"variables": []map[string]any{
			{"name": "customer", "type": "string"}, {"name": "language", "type": "string", "description": "In English"}, {"name": "transcript", "type": "string"},
		},
		"model_config": map[string]any{"provider": "openai", "model_name": "gpt-5-mini", "temperature": 0.2, "max_tokens": 600},
	})
	if err != nil {
		return "", err
	}
	if err := p.post(ctx, strings.TrimSuffix(path, "/"), token, string(body), &version); err != nil {
		return "", err
	}
	return path + "active", p.post(ctx, path+version.ID+"/activate", token, "{}", &template)
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
		return fmt.Errorf("the answers differ: Atrium's is\n%d %s\nand the floor's\n%d %s", status, want, floorStatus, got)
	}
	return nil
}
