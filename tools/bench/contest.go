package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// contestant is a target with what was measured of it.
type contestant struct {
	name string
	target
	kind      kind
	most      int      // connections, where the server lets no more wait; 0 for as many as the others have
	of        *program // whose use is measured too; nil if nothing asks
	took      []time.Duration
	perSecond []float64 // of each round
	ratios    []float64 // of each round, to the first contestant
	used      usage     // by all of it, the client apart
}

// kind is what an operation does.
type kind int

const (
	read kind = iota
	write
	call // of another system
)

const rounds = 5

// inRounds loads each of them in turn, again and again, after half a round that warms up.
func (m *machine) inRounds(ctx context.Context, connections int, contestants []*contestant) error {
	for _, c := range contestants {
		if _, _, err := c.load(ctx, c.connections(connections), m.round/2); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range rounds {
		for _, c := range contestants {
			before, err := c.usage(ctx)
			if err != nil {
				return err
			}
			took, all, err := c.load(ctx, c.connections(connections), m.round)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			after, err := c.usage(ctx)
			if err != nil {
				return err
			}
			used := after.since(before)
			c.used.allocations += used.allocations
			c.used.cpu += used.cpu
			c.took = append(c.took, took...)
			c.perSecond = append(c.perSecond, float64(len(took))/all.Seconds())
			c.ratios = append(c.ratios, c.perSecond[round]/contestants[0].perSecond[round])
		}
	}
	for _, c := range contestants {
		slices.Sort(c.took)
	}
	return ctx.Err()
}

func (c *contestant) connections(all int) int {
	if c.most == 0 {
		return all
	}
	return min(all, c.most)
}

// usage is what the contestant's program has used; what asking takes is some thousand allocations, which
// are lost among those of a round.
func (c *contestant) usage(ctx context.Context) (usage, error) {
	if c.of == nil {
		return usage{}, nil
	}
	return c.of.usage(ctx)
}

// rate, ratio and percentiles, as the tables show them.
func (c *contestant) rate() string  { return perSecond(median(c.perSecond)) }
func (c *contestant) ratio() string { return ratio(median(c.ratios)) }
func (c *contestant) percentiles() string {
	return ms(percentile(c.took, 50)) + ", " + ms(percentile(c.took, 99))
}

// each is what a request takes: allocations, and CPU.
func (c *contestant) each() (allocations, cpu string) {
	n := float64(len(c.took))
	return fmt.Sprintf("%.0f", c.used.allocations/n), fmt.Sprintf("%.0f µs", c.used.cpu/n*1e6)
}
