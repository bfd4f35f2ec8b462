package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sheets reads the first rows of spreadsheets, wherever they are stored.
//
// Cells are read as they are displayed: formulas are never evaluated, their last computed values are
// used. Links to other documents are never followed. An empty cell is nil. Invalid UTF-8 and control
// characters are replaced by U+FFFD. No more is read than the limits of package source require. Memory
// and time are bounded whatever a file holds. The host is reached only through the org's egress policy.
//
// Errors are the fault errors of package source, connection.ErrTooManyReads, or the context's error. They contain no
// text from a host or a parser, and no credential part.
type Sheets interface {
	// Preview reads a sheet's tabs and the first rows of the tab that the location names.
	// ErrTabNotFound if there is no such tab, or no tab at all. If a tab has no cell in its first rows,
	// or below the given header row, its Preview has no headers. The result may be up to 30 s old, or
	// ten minutes if the host accepts no more requests.
	Preview(ctx context.Context, workspace identity.WorkspaceID, target SheetTarget) (source.Sheet, error)

	// Rows calls yield with the rows below the location's header, in batches, without empty rows. The first batch has
	// the file's version, its sample, and the names of requested columns that the tab does not have; if there are any,
	// no rows follow. If yield returns an error, the call ends with it.
	Rows(ctx context.Context, workspace identity.WorkspaceID, target SheetTarget, q source.RowsQuery,
		yield func(column.Batch) error) error
}

// SheetTarget is a sheet to read, with limits and credentials.
type SheetTarget struct {
	Location source.SheetLocation
	Egress   identity.Egress // of the caller's org

	// Account is the workspace's own credential of the location's AccountKind; zero if not found. It is sent only to
	// the service's hosts.
	Account connection.Credential
	Offer   SheetOffer
	Within  time.Duration // how long Rows may take

	// Stored is the uploaded file that the location names; nil for others.
	Stored *StoredFile
}

// StoredFile is an uploaded file in FileParts. It holds the key in plain text.
type StoredFile struct {
	Workspace identity.WorkspaceID
	ID        source.FileID
	Name      string
	Key       []byte
	Parts     []source.FilePart
}

// SheetOffer is what an org's configuration adds to the sheets that its workspaces can read.
type SheetOffer struct {
	Files        bool                   // whether the data directory's folder "sheets" can be read
	GoogleAPIKey secret.String          // for Google Sheets that are shared with everyone who has the link; zero: none
	GoogleClient connection.OAuthClient // to which people gave their consents; zero: none
	Locale       string                 // of sheets whose location names no locale; empty: source.DefaultLocale
}
