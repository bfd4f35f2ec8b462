package prompts

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/promptfile"
)

const (
	zipType   = "application/zip"
	linesType = "application/x-ndjson"

	maxUnpacked = 16 << 20 // bytes in all of an archive's files
)

var (
	errArchive = &fault.Error{Kind: fault.Malformed, Code: "malformed_request",
		Detail: "The body is not a zip archive that can be read."}
	errArchiveTooLarge = &fault.Error{Kind: fault.TooLarge, Code: "file_too_large",
		Detail: "The archive has more than 500 prompts, or unpacks to more than 16 MiB."}
)

// promptArchive writes an export's files.
type promptArchive interface {
	add(path string, file []byte) error
	end() error
}

// exportFormats are an export's formats, by their media types.
var exportFormats = map[string]string{server.JSONType: "json", linesType: "ndjson", zipType: "zip"}

// exportPrompts streams the files of prompts, in the format of the parameter format, or the one that Accept names, or
// JSON.
var exportPrompts = server.Downloading(
	func(r *http.Request) string {
		format := r.URL.Query().Get("format")
		for media, name := range exportFormats {
			if name == format {
				return media
			}
		}
		isOffered := func(media string) bool { return exportFormats[media] != "" }
		return cmp.Or(server.Preferred(r.Header.Get("Accept"), isOffered), server.JSONType)
	},
	func(s *server.Stream) (func(context.Context, io.Writer) error, error) {
		media, ref := s.Produces, refOr(s.Query.Get("ref"), "latest")
		s.ReplyHeader.Set("Content-Type", media)
		s.ReplyHeader.Set("Content-Disposition", `attachment; filename="prompts.`+exportFormats[media]+`"`)
		return func(ctx context.Context, w io.Writer) error {
			var archive promptArchive = &jsonArchive{to: w, lines: media == linesType}
			if media == zipType {
				archive = &zipArchive{zip.NewWriter(w)}
			}
			if err := s.Prompts.Export(ctx, s.By, strings.TrimSuffix(s.Query.Get("folder"), "/"), ref,
				func(t *prompt.Template, reading *prompt.Reading, v *prompt.Version) error {
					path, file, err := promptFile(t, reading, v)
					if err != nil {
						return err
					}
					return archive.add(path, file)
				}); err != nil {
				return err
			}
			return archive.end()
		}, nil
	},
)

// promptFile returns a version's file, and its path.
func promptFile(t *prompt.Template, reading *prompt.Reading, v *prompt.Version) (path string, file []byte, err error) {
	p := promptfile.Prompt{Type: string(t.Type), Description: t.Description, Tags: t.Tags}
	path, hasPlace := promptfile.Place(t.Name)
	if hasPlace {
		p.Name = t.Name
	}
	version, err := json.Marshal(toVersion(reading, v))
	if err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(version, &p.Content); err != nil {
		return "", nil, err
	}
	if v.Content.IsInferred() { // from the text in the file, then, when it is imported or pushed
		p.Content.Variables = nil
	}
	file, err = promptfile.Encode(p)
	return path, file, err
}

// jsonArchive has the files as a JSON object, or as a JSON object a line.
type jsonArchive struct {
	to    io.Writer
	lines bool
	begun bool
}

func (a *jsonArchive) add(path string, file []byte) error {
	var line bytes.Buffer
	if !a.lines {
		line.WriteString(map[bool]string{false: `{"files":[`, true: ","}[a.begun])
	}
	a.begun = true
	if err := server.Encode(&line, openapi.PromptFile{Path: path, Content: string(file)}); err != nil {
		return err
	}
	_, err := a.to.Write(line.Bytes())
	return err
}

func (a *jsonArchive) end() error {
	var err error
	if !a.lines {
		_, err = io.WriteString(a.to, map[bool]string{false: `{"files":[]}`, true: "]}"}[a.begun]+"\n")
	}
	return err
}

// zipArchive has the same time for each file, so that equal prompts give equal archives.
type zipArchive struct{ to *zip.Writer }

// earliest is the first time that a zip archive can have.
var earliest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func (a *zipArchive) add(path string, file []byte) error {
	w, err := a.to.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate, Modified: earliest})
	if err == nil {
		_, err = w.Write(file)
	}
	return err
}

func (a *zipArchive) end() error { return a.to.Close() }

// filesAsJSON returns an archive's files as JSON for an openapi.PromptImport.
func filesAsJSON(media string, body []byte) ([]byte, error) {
	if media == linesType {
		var out bytes.Buffer
		out.WriteString(`{"files":[`)
		first := true
		for line := range bytes.Lines(body) {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			out.Write(line)
		}
		out.WriteString("]}")
		return out.Bytes(), nil
	}
	files, err := unpacked(body, maxUnpacked)
	if err != nil {
		return nil, err
	}
	return json.Marshal(openapi.PromptImport{Files: files})
}

// unpacked returns a zip archive's prompts, which may have room bytes together. Other files and folders are left out,
// but none may have a path that leads out of the archive.
func unpacked(body []byte, room int64) ([]openapi.PromptFile, error) {
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, errArchive
	}
	files := []openapi.PromptFile{}
	for i, f := range archive.File {
		pointer := fmt.Sprintf("/files/%d", i)
		path := strings.TrimSuffix(f.Name, "/")
		switch mode := f.Mode(); {
		case strings.ContainsAny(path, "\\:\x00") || !fs.ValidPath(path) || (!mode.IsDir() && !mode.IsRegular()):
			return nil, fault.InField(pointer, "invalid_format",
				"The archive has a link, or a file whose path is absolute or leads out of the archive.")
		case mode.IsDir() || !strings.HasSuffix(path, ".md") || isHidden(path):
			continue
		case len(files) == prompt.MaxImported:
			return nil, errArchiveTooLarge
		}
		content, err := unpackedFile(f, room)
		if err != nil {
			return nil, err
		}
		if room -= int64(len(content)); !utf8.Valid(content) {
			return nil, fault.InField(pointer, "invalid_format", "The file is not text in UTF-8.")
		}
		files = append(files, openapi.PromptFile{Path: path, Content: string(content)})
	}
	return files, nil
}

// unpackedFile reads at most room bytes from a file in an archive, whatever size the archive declares.
func unpackedFile(f *zip.File, room int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, errArchive
	}
	defer r.Close() //nolint:errcheck // it is only read
	content, err := io.ReadAll(io.LimitReader(r, room+1))
	if err != nil {
		return nil, errArchive
	}
	if int64(len(content)) > room {
		return nil, errArchiveTooLarge
	}
	return content, nil
}

// isHidden reports whether a path part begins with a dot, or belongs to the system that made the archive.
func isHidden(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, "/.") || strings.HasPrefix(path, "__MACOSX/")
}

// importedFile reads an uploaded prompt file. Its path names the prompt unless the file does.
func importedFile(r *server.Call, pointer string, f openapi.PromptFile, activate bool) prompt.Imported {
	p := prompt.Imported{Pointer: pointer, Source: f.Path}
	name, err := promptfile.Named(f.Path)
	if err != nil {
		p.Err = p.Refer("", fault.InField("/path", "invalid_format",
			"Must be a relative path with slashes, without .. and ending in .md."))
		return p
	}
	file, err := promptfile.Decode([]byte(f.Content))
	if err != nil {
		p.Err = p.Refer("",
			fault.InField("/content", "invalid_format", "Is not the file of a prompt: "+err.Error()+"."))
		return p
	}
	p.Locate = func(member, detail string) string { return file.Locate(member, detail).Error() }
	p.Draft = importedDraft(r, cmp.Or(file.Name, name), file.Type, file.Description, file.Tags)
	version, err := json.Marshal(file.Content)
	if err == nil {
		var d prompt.VersionDraft
		d, err = importedVersion(r, version)
		d.Activate = activate
		p.Versions = []prompt.VersionDraft{d}
	}
	if err != nil {
		p.Versions, p.Err = nil, p.Refer("", err)
	}
	return p
}

func importedDraft(r *server.Call, name, kind, description string, tags []string) prompt.Draft {
	return promptDraft(openapi.PromptTemplateCreate{
		Name:        name,
		Type:        openapi.PromptType(kind),
		Description: description,
		Tags:        tags,
		Visibility: openapi.Visibility(
			convert.OrDefault(r.Query.Get("visibility"), string(openapi.VisibilityPrivate)),
		),
	})
}

// importedVersion reads a version, which is checked like the body in a request that creates one.
func importedVersion(r *server.Call, version []byte) (prompt.VersionDraft, error) {
	create, _ := r.API.Contract.Operation(http.MethodPost, "/api/prompt-templates/{prompt_template_id}/versions")
	version, err := create.CheckBody(version)
	if err != nil {
		return prompt.VersionDraft{}, err
	}
	var in openapi.PromptVersionCreate
	if err := json.Unmarshal(version, &in); err != nil {
		return prompt.VersionDraft{}, errors.Join(errArchive, err)
	}
	return versionDraft(in), nil
}
