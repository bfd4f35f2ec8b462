package prompts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// readsFlushed is the time for which only this node knows a read. The read is lost if the node is killed in this
	// time. Each node that is read from stores counts this often, so a shorter time would be most of what reads from
	// memory cost the database.
	readsFlushed = 10 * time.Second

	// maxReads bounds the versions of which reads wait to be stored, while the database is away. Others are not
	// counted.
	maxReads = 100_000
)

// ReadCounter counts how often versions are read. Applications read them thousands of times a second, so reads are
// counted in memory and written together: no request waits for a write.
type ReadCounter struct {
	store ports.PromptReads

	mu      sync.Mutex
	pending map[identity.WorkspaceID]map[prompt.Read]int64 // not stored yet
	total   int                                            // how many there are of all workspaces
}

// NewReadCounter returns a counter that stores reads.
func NewReadCounter(store ports.PromptReads) *ReadCounter {
	return &ReadCounter{store: store, pending: map[identity.WorkspaceID]map[prompt.Read]int64{}}
}

// Record records that by has read versions. A person who looks at the console is not an application.
func (c *ReadCounter) Record(by identity.Actor, versions ...prompt.VersionID) {
	if by.Session != "" || len(versions) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range versions {
		c.add(by.Workspace, prompt.Read{Version: v, Day: prompt.DayOf(by.At)}, 1)
	}
}

// add requires c's lock.
func (c *ReadCounter) add(ws identity.WorkspaceID, r prompt.Read, n int64) {
	if _, isKnown := c.pending[ws][r]; !isKnown {
		if c.total >= maxReads {
			return
		}
		c.total++
	}
	if c.pending[ws] == nil {
		c.pending[ws] = map[prompt.Read]int64{}
	}
	c.pending[ws][r] += n
}

// Flush writes the recorded reads. Reads that could not be written stay recorded for the next call.
func (c *ReadCounter) Flush(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending, c.total = map[identity.WorkspaceID]map[prompt.Read]int64{}, 0
	c.mu.Unlock()
	var failures []error
	for ws, reads := range pending {
		if err := c.store.AddReads(ctx, ws, reads); err != nil {
			failures = append(failures, err)
			c.keep(ws, reads)
		}
	}
	return errors.Join(failures...)
}

// keep records again reads that could not be written.
func (c *ReadCounter) keep(ws identity.WorkspaceID, reads map[prompt.Read]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r, n := range reads {
		c.add(ws, r, n)
	}
}

// Run writes recorded reads until ctx ends, and reports errors.
func (c *ReadCounter) Run(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(readsFlushed)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.Flush(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}

// maxReadLines bounds the reads that are summed up for a list of versions.
const maxReadLines = 10_000

// firstListedDay is the first day of which lists of versions count reads.
func firstListedDay(by identity.Actor) prompt.Day {
	return prompt.DayOf(by.At) - prompt.ReadsListed + 1
}

// readSums returns how often a template's versions were read within the last days.
func (s *Service) readSums(
	ctx context.Context, by identity.Actor, id prompt.ID,
) (map[prompt.VersionID]int64, error) {
	reads, err := s.lists.Reads(ctx, by.Workspace, id, firstListedDay(by), maxReadLines)
	sums := map[prompt.VersionID]int64{}
	for _, r := range reads {
		sums[r.Version] += r.Count
	}
	return sums, err
}

// countReads sets how often a template's versions were read within the last days.
func (s *Service) countReads(
	ctx context.Context, by identity.Actor, id prompt.ID, versions []prompt.VersionSummary,
) error {
	sums, err := s.readSums(ctx, by, id)
	if err != nil {
		return err
	}
	for i := range versions {
		versions[i].Reads = new(sums[versions[i].ID])
	}
	return nil
}

// Reads returns how often applications read a template's versions within the last days, the latest day first. complete
// is false if there were more than limit lines.
func (s *Service) Reads(
	ctx context.Context, by identity.Actor, id prompt.ID, days, limit int,
) (reads []prompt.Reads, complete bool, err error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return nil, false, err
	}
	reads, err = s.lists.Reads(ctx, by.Workspace, id, prompt.DayOf(by.At)-prompt.Day(days)+1, limit+1)
	return reads[:min(len(reads), limit)], len(reads) <= limit, err
}
