package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	uploads = sources + "/files"
	asBytes = "Content-Type: application/octet-stream"
)

// contacts returns a CSV file with a header and a row for each address, padded to a size.
func contacts(size int, addresses ...string) string {
	var text strings.Builder
	text.WriteString("E-mail,Note\n")
	for _, address := range addresses {
		text.WriteString(address + ",x\n")
	}
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "p%d@example.com,%s\n", i, strings.Repeat("n", min(1000, max(size-text.Len()-30, 0))))
	}
	return text.String()
}

// part returns the header of a part.
func part(first, last, total int) string {
	return fmt.Sprintf("Content-Range: bytes %d-%d/%d", first, last, total)
}

func TestUploadedFiles(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("connections.refresh_interval", "0s"))
	ann, bob, vic := s.user(t, "member"), s.user(t, "member"), s.user(t, "viewer")
	stranger := s.user(t, "owner", "--workspace", "other")

	file := ann.create(t, uploads+"?name=contacts.csv", contacts(0, "ada@example.com", "grace@example.com"), asBytes)
	id, url := file.at("id"), file.at("url")
	attach := object{"type": "contacts", "location": object{"url": url},
		"mapping": []object{{"field": "email", "column": "E-mail"}}}
	file.has(t, map[string]string{"size": "50", "upload": "null", "name": "contacts.csv", "url": "file:" + id})
	assert.Equal(t, "location", file.header.Get("Location"), uploads+"/"+id)

	t.Run("is previewed, attached and read", func(t *testing.T) {
		ann.get(t, sources+"/sheet-preview?type=contacts&url="+url).has(t, map[string]string{"title": "contacts",
			"headers.0.name": "E-mail", "rows": `[["ada@example.com","x"],["grace@example.com","x"]]`})
		src := ann.create(t, sources, attach).has(t, map[string]string{"status": "active", "name": "contacts"}).at("id")
		ann.get(t, sources+"/"+src+"/rows").has(t,
			map[string]string{"data": `[{"email":"ada@example.com"},{"email":"grace@example.com"}]`})
		refreshed(t, ann, src).has(t, map[string]string{"status": "active", "row_estimate": "2"})

		ann.do(t, "PUT", uploads+"/"+id+"/content", "Mail\nada@example.com\n", asBytes).is(t, 200).has(t,
			map[string]string{"size": "21", "upload": "null"})
		awaits(t, "a source whose file was replaced drifts", s, func() bool {
			return ann.get(t, sources+"/"+src).at("drift.level") == "renamed"
		})
		ann.do(t, "DELETE", uploads+"/"+id, nil).problem(t, 409, "file_in_use").has(t,
			map[string]string{"used_by.0.id": src})
		ann.do(t, "DELETE", sources+"/"+src, nil).is(t, 204)
		ann.do(t, "DELETE", uploads+"/"+id, nil).is(t, 204)
		ann.do(t, "GET", uploads+"/"+id, nil).problem(t, 404, "file_not_found")
		ann.do(t, "POST", sources, attach).problem(t, 404, "sheet_not_found")
		if _, err := os.Stat(filepath.Join(s.data, "files", ann.workspace, id)); !os.IsNotExist(err) {
			t.Errorf("the content is still there: %v", err)
		}
	})
	t.Run("in parts, which go on after an interruption", func(t *testing.T) { partsAreResumed(t, ann) })
	t.Run("only for those who may", func(t *testing.T) {
		id := ann.create(t, uploads+"?name=private.csv", contacts(0, "ada@example.com"), asBytes).at("id")
		one, content := uploads+"/"+id, uploads+"/"+id+"/content"
		vic.get(t, one)
		assert.Equal(t, "first file of a viewer", vic.get(t, uploads+"?limit=1").at("data.0.id"), id)
		vic.do(t, "POST", uploads, object{"name": "a.csv", "size": 1}).problem(t, 403, "source_forbidden")
		for _, c := range []*client{vic, bob} {
			c.do(t, "PUT", content, "x", asBytes).problem(t, 403, "file_forbidden")
			c.do(t, "DELETE", one, nil).problem(t, 403, "file_forbidden")
		}
		stranger.do(t, "GET", one, nil).problem(t, 404, "file_not_found")
		stranger.do(t, "PUT", content, "x", asBytes).problem(t, 404, "file_not_found")
		stranger.do(t, "DELETE", one, nil).problem(t, 404, "file_not_found")
		assert.Equal(t, "files of another workspace", len(stranger.get(t, uploads).items(t)), 0)
		for _, location := range []string{"file:" + id, "file:" + id + "#0", "file:" + strings.ToUpper(id)} {
			a := stranger.do(t, "GET", sources+"/sheet-preview?url="+strings.ReplaceAll(location, "#", "%23"), nil)
			if a.status/100 != 4 || strings.Contains(a.text, "ada") {
				t.Errorf("%s: %s", location, a)
			}
		}
		stranger.do(t, "POST", sources, object{"type": "contacts", "location": object{"url": "file:" + id}}).
			problem(t, 404, "sheet_not_found")
	})
	t.Run("that is refused", func(t *testing.T) {
		ann.do(t, "POST", uploads+"?name=a.csv", strings.Repeat("x", 8<<20+1), asBytes).
			problem(t, 413, "body_too_large")
		ann.do(t, "POST", uploads, object{"name": "a.csv", "size": source.MaxSheetBytes + 1}).
			problem(t, 422, "invalid_fields")
		ann.do(t, "POST", uploads, "x", asBytes).problem(t, 422, "invalid_fields")
		ann.do(t, "POST", uploads+"?name=a.csv", "x", "Content-Type: text/csv").
			problem(t, 415, "unsupported_media_type")
		id := ann.create(t, uploads+"?name=photo.png", "\x89PNG\r\n\x1a\n\x00\x00", asBytes).at("id")
		content := uploads + "/" + id + "/content"
		ann.do(t, "GET", sources+"/sheet-preview?url=file:"+id, nil).problem(t, 415, "unsupported_format")
		ann.do(t, "PUT", content, "x", asBytes, "Content-Range: 0-0").problem(t, 400, "invalid_parameter")
		ann.do(t, "PUT", content, "x", asBytes, part(0, 1, 2)).problem(t, 400, "invalid_range")
		ann.do(t, "PUT", content, "x", asBytes, part(0, 0, 2)).problem(t, 400, "invalid_range")
		ann.do(t, "PUT", content, "x", asBytes, part(0, 0, source.MaxSheetBytes+1)).problem(t, 413, "file_too_large")
		ann.do(t, "PUT", content, "x", asBytes, part(5, 5, 6)).problem(t, 409, "offset_mismatch")
	})
	assert.EqualSlice(t, "events of files", ann.get(t, "/api/events?subject="+id).each(t, "type"),
		[]string{"file.deleted", "file.uploaded", "file.uploaded"})
	nothingIsPlain(t, s)
}

// partsAreResumed uploads a file of 17 MiB in parts, and goes on with what the server says it has received.
func partsAreResumed(t *testing.T, ann *client) {
	const mebibyte = 1 << 20
	text := contacts(17*mebibyte, "first@example.com")
	total := len(text)
	path := uploads + "/" + ann.create(t, uploads, object{"name": "large.csv", "size": total}).has(t,
		map[string]string{"size": "null", "upload.received": "0"}).at("id")
	send := func(first, last int) *answer {
		return ann.do(t, "PUT", path+"/content", text[first:last], asBytes, part(first, last-1, total))
	}
	send(0, 8*mebibyte).is(t, 200).has(t, map[string]string{"upload.received": fmt.Sprint(8 * mebibyte)})
	location := object{"type": "contacts", "location": object{"url": "file:" + path[len(uploads)+1:]},
		"mapping": []object{{"field": "email", "column": "E-mail"}}}
	ann.do(t, "POST", sources, location).problem(t, 404, "sheet_not_found")
	a := send(0, 8*mebibyte).problem(t, 409, "offset_mismatch")
	assert.Contains(t, "detail", a.at("detail"), fmt.Sprint(8*mebibyte))
	send(9*mebibyte, 16*mebibyte).problem(t, 409, "offset_mismatch")
	received, err := strconv.Atoi(ann.get(t, path).at("upload.received"))
	require.NoError(t, err)
	send(received, 16*mebibyte).is(t, 200)
	send(16*mebibyte, total).is(t, 200).has(t, map[string]string{"size": fmt.Sprint(total), "upload": "null"})
	src := sources + "/" + ann.create(t, sources, location).at("id")
	ann.get(t, src+"/rows?limit=1").has(t, map[string]string{"data": `[{"email":"first@example.com"}]`})
	rows := ann.do(t, "GET", src+"/rows", nil, "Accept: text/csv").is(t, 200).text
	assert.Equal(t, "rows", strings.Count(rows, "\n"), strings.Count(text, "\n"))
}

// nothingIsPlain looks for addresses in the files of the data folder.
func nothingIsPlain(t *testing.T, s *server) {
	count := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(s.data, "files"), func(path string, d fs.DirEntry,
		err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("example.com")) {
			t.Errorf("%s is not sealed", path)
		}
		return err
	}))
	if count == 0 {
		t.Error("there are no files")
	}
}
