package main

import (
	"os"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

// serveChild is the main function of the processes that Atrium starts itself with node.ChildCommand, never people. Each
// does one job that parses a tenant's data. Its arguments are the folder of the SQLite files that connections can name,
// and the folder of the spreadsheets that sources can name. It returns the exit code. It is not one of the declared
// commands: the server starts a child for every job, and declaring all commands is a tenth of a start's processor time.
func serveChild(warehouses, sheets string) int {
	kinds := node.Warehouses(warehouses)
	documents := sheet.NewDocuments(node.SheetGuard, nil, sheets, sheet.DefaultLimits())
	return confine.Serve(map[string]confine.Job{
		warehouse.JobName: {
			Do:     warehouse.Job(kinds),
			Stream: warehouse.StreamJob(kinds),
			Needs:  warehouse.Needs(warehouses),
			Warm:   warehouse.Warm,
		},
		sheet.JobName: {Do: sheet.Job(documents), Stream: sheet.RowsJob(documents), Needs: sheet.Needs(sheets)},
	}, os.Stdin, os.Stdout)
}
