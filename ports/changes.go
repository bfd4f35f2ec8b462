package ports

import "github.com/atrium-hq/atrium/domain/identity"

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Changes reports whether what was read from a workspace is still current.
type Changes interface {
	// Generation returns a number that grows with every change of a workspace through this process, before the caller
	// who made the change learns that it is stored. settled is false while a change is being stored: then what is in
	// memory can be older than what others have read already. On PostgreSQL, changes through other processes do not
	// count. On SQLite they count as changes of every workspace within 100 ms; settled is false while the process
	// cannot know of them.
	Generation(ws identity.WorkspaceID) (generation uint64, settled bool)

	// Elsewhere returns a number that grows when this process learns of a change of a workspace, through any process
	// or because a share has ended. current says that it has learned of every one that is more than a second old: then
	// what was read at the same number is not older than a second.
	Elsewhere(ws identity.WorkspaceID) (generation uint64, current bool)
}
