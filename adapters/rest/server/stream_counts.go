package server

import (
	"fmt"
	"sync"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
)

// streamCounts counts the open streams of each workspace and of each address.
type streamCounts struct {
	limits Streams

	mu         sync.Mutex
	workspaces map[identity.WorkspaceID]int
	addresses  map[string]int
}

func newStreamCounts(limits Streams) *streamCounts {
	return &streamCounts{limits: limits, workspaces: map[identity.WorkspaceID]int{}, addresses: map[string]int{}}
}

// enter counts a stream that is about to open. ErrTooManyWatches, with the limit that is reached, if there are
// too many; else leave must follow. A caller in no workspace only counts for the address.
func (c *streamCounts) enter(ws identity.WorkspaceID, address string) error {
	address = identity.AddressGroup(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ws != "" && c.workspaces[ws] >= c.limits.PerWorkspace:
		return presences.ErrTooManyWatches.Because(
			fmt.Sprintf("A workspace has at most %d open streams.", c.limits.PerWorkspace),
		)
	case c.addresses[address] >= c.limits.PerAddress:
		return presences.ErrTooManyWatches.Because(
			fmt.Sprintf("An address has at most %d open streams.", c.limits.PerAddress),
		)
	}
	if ws != "" {
		c.workspaces[ws]++
	}
	c.addresses[address]++
	return nil
}

func (c *streamCounts) leave(ws identity.WorkspaceID, address string) {
	address = identity.AddressGroup(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ws != "" {
		if c.workspaces[ws]--; c.workspaces[ws] == 0 {
			delete(c.workspaces, ws)
		}
	}
	if c.addresses[address]--; c.addresses[address] == 0 {
		delete(c.addresses, address)
	}
}
