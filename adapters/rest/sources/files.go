package sources

import (
	"fmt"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

func fileID(r *server.Call) source.FileID {
	return server.PathID[source.FileID](r, "file_id", source.FilePrefix)
}

func filePath(f *source.File) string { return "/api/datasources/files/" + string(f.ID) }

// toFile shows a file without its key and its parts.
func toFile(f *source.File) openapi.SourceFile {
	return openapi.SourceFile{
		ID:        string(f.ID),
		Name:      f.Name,
		URL:       f.URL(),
		Size:      openapi.OrNull(f.Content.Size),
		Upload:    openapi.OrNull(openapi.SourceFileUpload{Size: f.Pending.Size, Received: f.Pending.Received()}),
		OwnerID:   string(f.Owner),
		Revision:  f.Revision,
		CreatedAt: openapi.Time(f.CreatedAt),
		UpdatedAt: openapi.Time(f.UpdatedAt),
	}
}

func listFiles(r *server.Call) (server.Reply, error) {
	return server.List(r, toFile, func(q page.Query) (page.Of[source.File], error) {
		return r.Sources.Files(r.Context(), r.By, q)
	})
}

func getFile(r *server.Call) (server.Reply, error) {
	f, err := r.Sources.File(r.Context(), r.By, fileID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toFile(f)).WithRevision(f.Revision), nil
}

// createFile stores the content, if the body is one, and returns the command that stores the file.
func createFile(r *server.Call) (server.Command, error) {
	name, content, size := r.Query.Get("name"), []byte(nil), int64(0)
	if body, ok := r.RawBody(); ok {
		content = body
	} else {
		in, err := server.Decode[openapi.SourceFileCreate](r)
		if err != nil {
			return nil, err
		}
		name, size = in.Name, in.Size
	}
	f, err := r.Sources.NewFile(r.Context(), r.By, name, size, content)
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		if err := r.Sources.AddFile(r.Context(), r.By, f); err != nil {
			return server.Reply{}, err
		}
		return server.Created(filePath(f), toFile(f)).WithRevision(f.Revision).ReadableAt(filePath(f)), nil
	}, nil
}

// putFileContent stores a part, and returns the command that adds it to the file.
func putFileContent(r *server.Call) (server.Command, error) {
	body, _ := r.RawBody()
	place, err := rangeOf(r.Header.Get("Content-Range"), int64(len(body)))
	if err != nil {
		return nil, err
	}
	part, err := r.Sources.StorePart(r.Context(), r.By, fileID(r), place, body)
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		f, err := r.Sources.AcceptPart(r.Context(), r.By, fileID(r), place, part)
		if err != nil {
			return server.Reply{}, err
		}
		return server.OK(toFile(f)).WithRevision(f.Revision), nil
	}, nil
}

// rangeOf reads a Content-Range, which openapi.yaml has checked, for a body of some bytes; the whole content without
// one.
func rangeOf(header string, bytes int64) (source.FileRange, error) {
	if header == "" {
		return source.FileRange{Bytes: bytes, Total: bytes}, nil
	}
	var first, last, total int64
	if _, err := fmt.Sscanf(header, "bytes %d-%d/%d", &first, &last, &total); err != nil || last-first+1 != bytes {
		return source.FileRange{}, source.ErrFileRange
	}
	return source.FileRange{First: first, Bytes: bytes, Total: total}, nil
}

func deleteFile(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Sources.RemoveFile(r.Context(), r.By, fileID(r), r.Match)
}
