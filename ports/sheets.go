package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sheets reads the heads of spreadsheets, wherever they are kept.
//
// Cells are read as they are shown: formulas are never evaluated, what was computed last is shown;
// links to other documents are never followed. A cell that is empty is nil. What is not UTF-8, and
// control characters, are replaced by U+FFFD. No more is read than source's limits ask for, memory
// and time are bounded whatever a file holds, and the host is reached through the org's egress
// policy alone.
//
// Errors are the fault errors of package source, connection.ErrTooManyReads, or that of a context which ended; no text of a
// host's or a parser's, and nothing of a credential, is in one.
type Sheets interface {
	// Preview reads a sheet's tabs and the head of the one that the location names. ErrTabNotFound
	// if there is no such tab, or none at all. A tab without a cell in its first rows, or below the
	// header row that was given, has a Preview without headers. An answer may be up to 30 s old, or
	// ten minutes if the host takes no more requests.
	Preview(ctx context.Context, workspace identity.WorkspaceID, of SheetTarget) (source.Sheet, error)
}

// SheetTarget is which sheet to read, and how far Sheets may go for it.
type SheetTarget struct {
	Location source.SheetLocation
	Egress   identity.Egress // of the org whose tenant asks

	// Google is the workspace's own credential of kind connection.GoogleSheets, the zero one if it
	// has none. No other host than Google's is shown it.
	Google connection.Credential
	Offer  SheetOffer
}

// SheetOffer is what an org's configuration adds to the sheets of its workspaces.
type SheetOffer struct {
	Files        bool          // whether the data directory's folder sheets may be read
	GoogleAPIKey secret.String // for Google Sheets that are shared with everyone who has the link; zero: none
}
