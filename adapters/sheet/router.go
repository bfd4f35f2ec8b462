package sheet

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sheet/google"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Router implements ports.Sheets for every location. It passes each call to the adapter for the location.
type Router struct {
	files  ports.Sheets
	google ports.Sheets
}

// NewRouter returns a Router that passes Google Sheets to googleSheets and all other locations to files, among them
// Microsoft's.
func NewRouter(files, googleSheets ports.Sheets) *Router {
	return &Router{files: files, google: googleSheets}
}

// Rows implements ports.Sheets.
func (r *Router) Rows(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget, q source.RowsQuery,
	handle func(column.Batch) error,
) error {
	if google.Owns(target.Location.URL) {
		return r.google.Rows(ctx, workspace, target, q, handle)
	}
	return withoutAccount(target, r.files.Rows(ctx, workspace, ofFile(target), q, handle))
}

// Preview implements ports.Sheets.
func (r *Router) Preview(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget,
) (source.Sheet, error) {
	if google.Owns(target.Location.URL) {
		return r.google.Preview(ctx, workspace, target)
	}
	s, err := r.files.Preview(ctx, workspace, ofFile(target))
	return s, withoutAccount(target, err)
}

// ofFile returns the target parts that a file needs: a credential only for files of Microsoft.
func ofFile(target ports.SheetTarget) ports.SheetTarget {
	file := ports.SheetTarget{Location: target.Location, Egress: target.Egress, Within: target.Within,
		Stored: target.Stored,
		Offer:  ports.SheetOffer{Files: target.Offer.Files, Locale: target.Offer.Locale}}
	if target.Account.Kind() == connection.Microsoft365 {
		file.Account = target.Account
	}
	return file
}

// withoutAccount returns what is missing when a file of Microsoft is read without a connection.
func withoutAccount(target ports.SheetTarget, err error) error {
	if target.Location.AccountKind() == connection.Microsoft365 && target.Account.Kind() == "" &&
		(errors.Is(err, source.ErrSheetNotShared) || errors.Is(err, source.ErrUnsupportedFormat)) {
		return source.ErrSheetNotShared.Because("This workspace has no connection to Microsoft 365. Add one of kind " +
			"microsoft_365, or use a download link that needs no sign-in.")
	}
	return err
}
