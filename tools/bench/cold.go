package main

import (
	"context"
	"fmt"
)

// cold compares how often Atrium and the floor answer the most frequent read if Atrium reads everything from the
// database: many people ask in turn, each with a key of their own and Cache-Control. The floor remembers nothing, so it
// is asked with one key.
func cold(ctx context.Context, m *machine) error {
	m.section("The same with nothing cached", "", "floor", "Atrium", "Atrium / floor (aim ≥ 0.5)",
		"CPU of the floor", "CPU of Atrium", "p50, p99 of the floor", "p50, p99 of Atrium")
	return m.onEach(ctx, "cold", func(d database, data string) error { return m.coldOn(ctx, d, data) })
}

func (m *machine) coldOn(ctx context.Context, d database, data string) error {
	b, err := m.serveBeside(ctx, d, data)
	if err != nil {
		return err
	}
	defer b.stop()
	if err := sameAnswer(ctx, b.floor, b.atrium, b.prompt.active(), b.owner.Token); err != nil {
		return err
	}
	people, err := crowd(ctx, d, b.owner, coldCallers, 0)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	requests := make([][]byte, len(people))
	for i, p := range people {
		requests[i] = b.atrium.request("GET", b.prompt.active(), p.Token, "", "Cache-Control: no-cache")
	}
	for _, connections := range []int{16, 64} {
		contestants := []*contestant{
			{name: "the floor", target: newTarget(b.floor, b.prompt.active(), b.owner.Token), of: b.floor},
			{name: "nothing cached", target: b.atrium.repeats(requests...), of: b.atrium},
		}
		if err := m.inRounds(ctx, connections, contestants); err != nil {
			return err
		}
		floor, atrium := contestants[0], contestants[1]
		_, floorCPU := floor.each()
		_, atriumCPU := atrium.each()
		m.row(fmt.Sprintf("%s, %d connections", d.named(), connections), floor.rate(), atrium.rate(), atrium.ratio(),
			floorCPU, atriumCPU, floor.percentiles(), atrium.percentiles())
	}
	return nil
}
