package main

import (
	"context"
	"fmt"
)

// idempotency compares a POST with an Idempotency-Key of its own, which the server stores with the response, and the
// same POST without one: creating a version of a prompt.
func idempotency(ctx context.Context, m *machine) error {
	m.section("Idempotency keys", "", "without a key", "with a key", "takes, with / without (aim ≤ 1.3)", "CPU without",
		"CPU with", "p50, p99 without", "p50, p99 with")
	return m.onEach(ctx, "idempotency", func(d database, data string) error { return m.idempotencyOn(ctx, d, data) })
}

func (m *machine) idempotencyOn(ctx context.Context, d database, data string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	atrium, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return err
	}
	defer atrium.stop()
	w := workspace{program: atrium, owner: owner}
	for i := range manyPrompts {
		p, err := publish(ctx, atrium, owner.Token, fmt.Sprintf("sales/prompt-%d", i))
		if err != nil {
			return err
		}
		w.prompts = append(w.prompts, p)
	}
	for _, connections := range []int{1, 16} {
		plain := &contestant{name: "without a key", target: w.versions(false), of: atrium}
		keyed := &contestant{name: "with a key", target: w.versions(true), of: atrium}
		if err := m.inRounds(ctx, connections, []*contestant{plain, keyed}); err != nil {
			return err
		}
		_, plainCPU := plain.each()
		_, keyedCPU := keyed.each()
		m.row(fmt.Sprintf("%s, %d at a time", d.named(), connections), plain.rate(), keyed.rate(),
			ratio(1/median(keyed.ratios)), plainCPU, keyedCPU, plain.percentiles(), keyed.percentiles())
	}
	return nil
}
