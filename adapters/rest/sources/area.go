// Package sources serves data sources: what they are mapped to, and their jobs and validations.
package sources

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of data sources.
func Area() server.Area { return server.Area{Name: "sources", Operations: sourceOperations()} }

func sourceOperations() []server.Operation {
	const one, file = "/api/datasources/{source_id}", "/api/datasources/files/{file_id}"
	return []server.Operation{
		server.Get("/api/datasources", server.CachedQuery(listSources)),
		server.Post("/api/datasources", server.Outbound(attachSource)),
		server.Get("/api/datasources/types", server.Query(listSourceTypes)), // before what an id could be
		server.Get("/api/datasources/sheet-preview", server.Query(previewSheet)),
		server.Get("/api/datasources/warehouse-preview", server.Query(previewWarehouse)),
		server.Post("/api/datasources/transform-preview", server.Query(previewTransforms)),
		server.Get("/api/datasources/files", server.Query(listFiles)),
		server.Post("/api/datasources/files", server.Uploading{Outbound: createFile}),
		server.Get(file, server.Query(getFile)),
		server.Delete(file, server.Command(deleteFile)),
		server.Put(file+"/content", server.Uploading{Outbound: putFileContent}),
		server.Get(one, server.CachedQuery(getSource)),
		server.Patch(one, server.Command(updateSource)),
		server.Delete(one, server.Command(detachSource)),
		server.Put(one, server.Outbound(mapSource)),
		server.Post(one+"/refresh", server.Command(refreshSource)),
		server.Get(one+"/jobs", server.Query(listSourceJobs)),
		server.Get(one+"/changes", server.Query(listSourceChanges)),
		server.Post(one+"/validate", server.Command(validateSource)),
		server.Get(one+"/validation", validation()),
	}
}
