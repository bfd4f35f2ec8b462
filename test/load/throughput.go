package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	rounds   = 5
	roundFor = 4 * time.Second
	warmUp   = 2 * time.Second
)

// throughput compares how often a second Atrium and the floor answer the read that applications
// repeat all day: the active version of a prompt.
func throughput(ctx context.Context, m *machine, engines []engine, table *tabwriter.Writer) error {
	fmt.Fprintln(table, "GET active version\tfloor\tAtrium\tratio (median of rounds)\tfloor p50, p99\tAtrium p50, p99")
	for _, e := range engines {
		data := filepath.Join(m.dir, "throughput-"+e.driver)
		if err := e.use(ctx, data, func(d database) error { return m.throughputOn(ctx, d, data, table) }); err != nil {
			return fmt.Errorf("throughput on %s: %w", e.driver, err)
		}
	}
	return nil
}

func (m *machine) throughputOn(ctx context.Context, d database, data string, table *tabwriter.Writer) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	atrium, err := m.serveAtrium(ctx, d, data)
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
	targets := []target{newTarget(floor, path, owner.Token), newTarget(atrium, path, owner.Token)}
	for _, connections := range []int{16, 64} {
		var took [2][]time.Duration
		var perSecond [2][]float64
		var ratios []float64
		for round := range rounds + 1 {
			for i, t := range targets {
				d := roundFor
				if round == 0 {
					d = warmUp
				}
				one, err := t.load(ctx, connections, d)
				if err != nil {
					return err
				}
				if round > 0 {
					took[i] = append(took[i], one...)
					perSecond[i] = append(perSecond[i], float64(len(one))/d.Seconds())
				}
			}
			if round > 0 {
				ratios = append(ratios, perSecond[1][round-1]/perSecond[0][round-1])
			}
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		fmt.Fprintf(table, "%s, %d connections\t%.0f/s\t%.0f/s\t%.2f\t%s, %s\t%s, %s\n", d.driver, connections,
			median(perSecond[0]), median(perSecond[1]), median(ratios),
			ms(percentile(took[0], 50)), ms(percentile(took[0], 99)), ms(percentile(took[1], 50)), ms(percentile(took[1], 99)))
	}
	return nil
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
