package sheet

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sheet/google"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Router implements ports.Sheets for every location. It passes each call to the adapter for the location.
type Router struct {
	files  ports.Sheets
	google ports.Sheets
}

// NewRouter returns a Router that passes Google Sheets to googleSheets and all other locations to files.
func NewRouter(files, googleSheets ports.Sheets) *Router {
	return &Router{files: files, google: googleSheets}
}

// Rows implements ports.Sheets.
func (r *Router) Rows(
	ctx context.Context, workspace identity.WorkspaceID, of ports.SheetTarget, q source.RowsQuery,
	each func(column.Batch) error,
) error {
	if google.Owns(of.Location.URL) {
		return r.google.Rows(ctx, workspace, of, q, each)
	}
	return r.files.Rows(ctx, workspace, ports.SheetTarget{Location: of.Location, Egress: of.Egress, Within: of.Within,
		Offer: ports.SheetOffer{Files: of.Offer.Files}}, q, each)
}

// Preview implements ports.Sheets. It passes on only the parts of a target that are needed: files get no
// credential.
func (r *Router) Preview(
	ctx context.Context, workspace identity.WorkspaceID, of ports.SheetTarget,
) (source.Sheet, error) {
	if google.Owns(of.Location.URL) {
		return r.google.Preview(ctx, workspace, of)
	}
	return r.files.Preview(ctx, workspace, ports.SheetTarget{Location: of.Location, Egress: of.Egress,
		Offer: ports.SheetOffer{Files: of.Offer.Files}})
}
