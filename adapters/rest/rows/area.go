// Package rows serves the rows of data sources, as pages and as streams.
package rows

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of rows.
func Area() server.Area { return server.Area{Name: "rows", Operations: rowOperations()} }

func rowOperations() []server.Operation {
	const one = "/api/datasources/{source_id}"
	return []server.Operation{
		server.Get(one+"/rows", rows()),
		server.Get(one+"/validation/failing-rows", failingRows),
	}
}
