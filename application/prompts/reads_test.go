package prompts_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// counts is a ports.PromptReads in memory.
type counts struct {
	stored map[prompt.Read]int64
	fails  error
	writes int
}

func (c *counts) AddReads(_ context.Context, _ identity.WorkspaceID, reads map[prompt.Read]int64) error {
	c.writes++
	for r, n := range reads {
		if c.fails != nil && len(c.stored) > 0 {
			return c.fails // after a part is stored
		}
		c.stored[r] += n
		delete(reads, r)
	}
	return c.fails
}

func TestReadsAreCountedTogether(t *testing.T) {
	store := &counts{stored: map[prompt.Read]int64{}}
	c := prompts.NewReadCounter(store)
	day := prompt.DayOf(now)
	for range 3 {
		c.Record(owner, "ver1", "ver2")
	}
	console := owner
	console.Session = identity.SessionID("ses")
	c.Record(console, "ver1")
	require.NoError(t, c.Flush(t.Context()))
	require.NoError(t, c.Flush(t.Context()))
	want := map[prompt.Read]int64{{Version: "ver1", Day: day}: 3, {Version: "ver2", Day: day}: 3}
	if d := cmp.Diff(want, store.stored); d != "" || store.writes != 1 {
		t.Errorf("%d writes (-want +got):\n%s", store.writes, d)
	}
}

func TestReadsThatCouldNotBeStoredAreCountedOnceLater(t *testing.T) {
	store := &counts{stored: map[prompt.Read]int64{}, fails: errors.New("away")}
	c := prompts.NewReadCounter(store)
	c.Record(owner, "ver1", "ver2", "ver2")
	require.ErrorIs(t, c.Flush(t.Context()), store.fails)
	c.Record(owner, "ver1")
	store.fails = nil
	require.NoError(t, c.Flush(t.Context()))
	day := prompt.DayOf(now)
	want := map[prompt.Read]int64{{Version: "ver1", Day: day}: 2, {Version: "ver2", Day: day}: 2}
	assert.NoDiff(t, "what is returned", cmp.Diff(want, maps.Clone(store.stored)))
}
