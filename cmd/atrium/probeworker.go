package main

import (
	"os"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/objects"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/ports"
)

// serveChild is the main function of the processes that Atrium starts itself with node.ChildCommand, never people. Each
// does one job that parses a tenant's data. Its arguments are the folder of the SQLite files that connections can name,
// the folder of the spreadsheets that sources can name, and the folder of uploaded files. It returns the exit code. It
// is not one of the declared commands: the server starts a child for every job, and declaring all commands is a tenth
// of a start's processor time.
func serveChild(warehouses, sheets, files string) int {
	kinds := node.Warehouses(warehouses)
	documents := sheet.NewDocuments(node.SheetGuard, nil, sheets, sheet.DefaultLimits()).WithStored(
		func(f *ports.StoredFile) (sheet.Content, error) { return objects.Open(files, f) })
	sheetNeeds := sheet.Needs(sheets, func(f *ports.StoredFile) string {
		return objects.PartsFolder(files, f.Workspace, f.ID)
	})
	return confine.Serve(map[string]confine.Job{
		warehouse.JobName: {
			Do:     warehouse.Job(kinds),
			Stream: warehouse.StreamJob(kinds),
			Needs:  warehouse.Needs(warehouses),
			Warm:   warehouse.Warm,
		},
		sheet.JobName: {Do: sheet.Job(documents), Stream: sheet.RowsJob(documents), Needs: sheetNeeds},
	}, os.Stdin, os.Stdout)
}
