package ports

import "github.com/atrium-hq/atrium/domain/identity"

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Changes reports whether what was read from a workspace is still current.
type Changes interface {
	// Generation returns a number that grows with every workspace change through this process, before the caller who
	// made the change gets a response. settled is false while a change is being stored: then cached data can be older
	// than what others have already read. Changes through other processes do not count.
	Generation(ws identity.WorkspaceID) (generation uint64, isSettled bool)

	// ObservedGeneration returns a number that grows when this process observes a workspace change: by any process, or
	// because a share has ended. On SQLite, a change through another process counts as a change of every workspace.
	// current is true if the process has observed all changes that are more than a second old: then data that was read
	// at the same number is at most a second old.
	ObservedGeneration(ws identity.WorkspaceID) (generation uint64, current bool)
}
