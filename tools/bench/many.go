package main

import (
	"context"
	"fmt"
	"time"
)

const (
	manyAtOnce = 2_000
	manyFor    = 5 * time.Second
)

// manyConnections measures what 2,000 connections take that wait, and what they take that all read the
// active version of a prompt as often as they can.
func manyConnections(ctx context.Context, m *machine) error {
	m.section("2,000 connections", "", "resident, none", "waiting", "all asking", "answers", "/ floor", "p50, p99",
		"CPU, all asking", "CPU a request")
	return m.onEach(ctx, "many", func(d database, data string) error { return m.manyOn(ctx, d, data) })
}

func (m *machine) manyOn(ctx context.Context, d database, data string) error {
	b, err := m.serveBeside(ctx, d, data)
	if err != nil {
		return err
	}
	defer b.stop()
	time.Sleep(settles)
	none, err := b.atrium.usage(ctx)
	if err != nil {
		return err
	}
	waiting, err := m.waiting(ctx, b.atrium, newTarget(b.atrium, b.prompt.active(), b.owner.Token))
	if err != nil {
		return err
	}
	base, baseFor, err := newTarget(b.floor, b.prompt.active(), b.owner.Token).load(ctx, manyAtOnce, manyFor)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	before, err := b.atrium.usage(ctx)
	if err != nil {
		return err
	}
	took, tookFor, err := newTarget(b.atrium, b.prompt.active(), b.owner.Token).load(ctx, manyAtOnce, manyFor)
	if err != nil {
		return err
	}
	after, err := b.atrium.usage(ctx)
	if err != nil {
		return err
	}
	n, cpu := float64(len(took)), after.since(before).cpu
	m.row(d.named(), mb(none.resident), mb(waiting.resident), mb(after.resident), perSecond(n/tookFor.Seconds()),
		ratio(n/tookFor.Seconds()/(float64(len(base))/baseFor.Seconds())),
		ms(percentile(took, 50))+", "+ms(percentile(took, 99)), cores(cpu/tookFor.Seconds()),
		fmt.Sprintf("%.0f µs", cpu/n*1e6))
	return nil
}

// waiting is what p uses once 2,000 connections have each asked something, and are kept.
func (m *machine) waiting(ctx context.Context, p *program, t target) (usage, error) {
	for range manyAtOnce {
		c, err := t.dial(ctx)
		if err != nil {
			return usage{}, err
		}
		defer c.Close()
		if _, err := c.ask(); err != nil {
			return usage{}, err
		}
	}
	time.Sleep(settles)
	return p.usage(ctx)
}
