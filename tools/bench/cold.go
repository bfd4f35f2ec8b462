package main

import (
	"context"
	"fmt"
)

// cold compares how often Atrium and the floor answer the most frequent read if Atrium reads everything from the
// database: many people ask in turn, each with a key of their own and Cache-Control. The floor gets the same requests,
// so that both look for as many rows. Each key is used once before: when it was last used is written once a minute, and
// otherwise the first request with each of the 25,000 would be a read and a write.
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
	requests, floorRequests := make([][]byte, len(people)), make([][]byte, len(people))
	for i, p := range people {
		requests[i] = b.atrium.request("GET", b.prompt.active(), p.Token, "", "Cache-Control: no-cache")
		floorRequests[i] = b.floor.request("GET", b.prompt.active(), p.Token, "", "Cache-Control: no-cache")
	}
	uses := b.atrium.repeats(requests...)
	for uses.turn.Load() < int64(len(requests)) {
		if _, _, err := uses.load(ctx, 16, m.round); err != nil {
			return fmt.Errorf("the first use of the keys: %w", err)
		}
	}
	for _, connections := range []int{16, 64} {
		contestants := []*contestant{
			{name: "the floor", target: b.floor.repeats(floorRequests...), of: b.floor},
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
