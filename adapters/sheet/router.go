package sheet

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sheet/google"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Router is ports.Sheets for every location: it leaves each to whom it is for.
type Router struct {
	files  ports.Sheets
	google ports.Sheets
}

// NewRouter returns a Router that leaves Google Sheets to one, and all else to another.
func NewRouter(files, googleSheets ports.Sheets) *Router {
	return &Router{files: files, google: googleSheets}
}

// Preview is ports.Sheets'. No more of a target is passed on than is needed: files see no credential.
func (r *Router) Preview(ctx context.Context, workspace identity.WorkspaceID, of ports.SheetTarget) (source.Sheet, error) {
	if google.Owns(of.Location.URL) {
		return r.google.Preview(ctx, workspace, of)
	}
	return r.files.Preview(ctx, workspace, ports.SheetTarget{Location: of.Location, Egress: of.Egress, Offer: ports.SheetOffer{Files: of.Offer.Files}})
}
