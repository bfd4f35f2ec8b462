// Package sheet reads the first rows of spreadsheets. It reads files that a host serves by https or that are in the
// data directory, in this process or in a child process, and passes other locations to a service's API.
package sheet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/sheet/microsoft"
	"github.com/atrium-hq/atrium/adapters/sheet/upstream"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Limits are the resource limits of one call.
type Limits struct {
	Connect time.Duration // until a connection is established
	Total   time.Duration // for all of the call
	Bytes   int64         // of a file, and of received bytes
}

// DefaultLimits returns the limits that apply to sheets.
func DefaultLimits() Limits {
	return Limits{Connect: 5 * time.Second, Total: 20 * time.Second, Bytes: source.MaxSheetBytes}
}

// Network opens guarded connections for one call. What its rules refuse is
// connection.NetworkNotAllowed, and more than its bytes are connection.ResponseTooLarge.
type Network interface {
	Client(roots *tls.Config) *http.Client
}

// Guard creates the network of one call. The network stops working at end. allows reports whether a port may be
// dialled.
type Guard func(egress identity.Egress, allows func(port uint16) bool, limits Limits, end time.Time) Network

const httpsPort = 443

// allowsPort returns which ports a file at u may be fetched from: the https port, which redirects may lead to, and u's
// port, unless systems reserve it.
func allowsPort(u *url.URL) func(uint16) bool {
	ownPort := portOf(u)
	return func(port uint16) bool { return port == httpsPort || (port >= 1024 && port == ownPort) }
}

// portOf is an https URL's port, 0 if that is none.
func portOf(u *url.URL) uint16 {
	if u.Port() == "" {
		return httpsPort
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// Documents is ports.Sheets for files. It parses untrusted data: see Confined.
type Documents struct {
	guard     Guard
	roots     *tls.Config
	folder    string
	limits    Limits
	microsoft microsoft.Config
	stored    OpenStored
}

// Content is the content of an uploaded file.
type Content interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// OpenStored opens an uploaded file.
type OpenStored func(*ports.StoredFile) (Content, error)

// NewDocuments returns a Documents that fetches through guard, trusting roots (nil: the machine's),
// and reads the files of folder, which need not exist.
func NewDocuments(guard Guard, roots *tls.Config, folder string, limits Limits) *Documents {
	return &Documents{guard: guard, roots: roots, folder: folder, limits: limits, microsoft: microsoft.Default()}
}

// WithStored returns d with what opens uploaded files.
func (d *Documents) WithStored(open OpenStored) *Documents {
	other := *d
	other.stored = open
	return &other
}

// Preview implements ports.Sheets.
func (d *Documents) Preview(
	ctx context.Context, _ identity.WorkspaceID, target ports.SheetTarget,
) (source.Sheet, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limits.Total, source.ErrSheetTimeout)
	defer cancel()
	var s source.Sheet
	if err := d.read(ctx, target, func(doc document) (err error) {
		s, err = doc.read(target.Location)
		return err
	}); err != nil {
		return source.Sheet{}, known(ctx, err)
	}
	return s, nil
}

// known returns the fault for an error of reading.
func known(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failure, ok := errors.AsType[*fault.Error](err); ok {
		return failure
	}
	return source.ErrSheetFailed
}

// read opens a target's file, and passes it to do.
func (d *Documents) read(ctx context.Context, target ports.SheetTarget, handle func(document) error) error {
	if target.Stored != nil {
		return d.uploaded(target.Stored, handle)
	}
	if name, ok := strings.CutPrefix(target.Location.URL, source.FileScheme); ok && target.Offer.Files {
		return d.file(name, handle)
	}
	u, err := url.Parse(target.Location.URL)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" ||
		len(target.Location.URL) > source.MaxLocation {
		return source.ErrURLNotAllowed
	}
	doc, err := d.fetch(ctx, u, target)
	if err != nil {
		return err
	}
	return handle(doc)
}

// maxFileName is a file name's maximum length in characters.
const maxFileName = 128

// isFileName reports whether a file of the folder can have this name: no folders, nothing hidden.
func isFileName(name string) bool {
	if name == "" || strings.ContainsRune(" .()", rune(name[0])) || utf8.RuneCountInString(name) > maxFileName {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_- .()", r)
	})
}

// file reads a file of the folder. It does not follow links that lead out of the folder, and does not wait for
// pipes.
func (d *Documents) file(name string, handle func(document) error) error {
	if !isFileName(name) {
		return source.ErrURLNotAllowed
	}
	root, err := os.OpenRoot(d.folder)
	if err != nil {
		return source.ErrSheetNotFound // there are no files at all
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return source.ErrSheetNotFound
	}
	defer func() { _ = f.Close() }() // it was read from
	switch info, err := f.Stat(); {
	case err != nil || !info.Mode().IsRegular():
		return source.ErrSheetNotFound
	case info.Size() > d.limits.Bytes:
		return source.ErrFileTooLarge
	default:
		return handle(document{ReaderAt: f, size: info.Size(), name: name})
	}
}

// errContentMissing is the error for an uploaded file whose content is gone or was changed. It may also have been
// replaced since the request began.
var errContentMissing = source.ErrSheetFailed.Because(
	"The content of the uploaded file could not be read. Try again. If it still fails, upload the file again.")

// uploaded reads an uploaded file.
func (d *Documents) uploaded(f *ports.StoredFile, handle func(document) error) error {
	if d.stored == nil {
		return errContentMissing
	}
	content, err := d.stored(f)
	if err != nil {
		return errContentMissing
	}
	defer func() { _ = content.Close() }() // it was read from
	if content.Size() > d.limits.Bytes {
		return source.ErrFileTooLarge
	}
	checked := &checkedContent{Content: content}
	err = handle(document{ReaderAt: checked, size: content.Size(), name: f.Name})
	if checked.failed { // a parser takes it for an error in the file
		return errContentMissing
	}
	return err
}

// checkedContent notes whether a content could not be read.
type checkedContent struct {
	Content
	failed bool
}

// ReadAt is io.ReaderAt's.
func (c *checkedContent) ReadAt(b []byte, offset int64) (n int, err error) {
	n, err = c.Content.ReadAt(b, offset)
	c.failed = c.failed || (err != nil && !errors.Is(err, io.EOF))
	return n, err
}

// fetch reads a file into memory.
func (d *Documents) fetch(ctx context.Context, u *url.URL, target ports.SheetTarget) (document, error) {
	end, _ := ctx.Deadline()
	client := d.guard(target.Egress, allowsPort(u), d.limits, end).Client(d.roots)
	open := d.request
	if target.Account.Kind() == connection.Microsoft365 {
		open = func(ctx context.Context, client *http.Client, u *url.URL) (upstream.File, error) {
			return d.microsoft.Open(ctx, client, target.Account, u.String(), d.limits.Bytes)
		}
	}
	file, err := open(ctx, client, u)
	if err != nil {
		return document{}, err
	}
	defer func() { _ = file.Response.Body.Close() }() // it was read from
	if file.Response.ContentLength > d.limits.Bytes {
		return document{}, source.ErrFileTooLarge
	}
	body, err := readBlocks(io.LimitReader(file.Response.Body, d.limits.Bytes+1))
	if err != nil {
		return document{}, upstream.Unreachable(err)
	}
	if body.size > d.limits.Bytes {
		return document{}, source.ErrFileTooLarge
	}
	return document{ReaderAt: body, size: body.size, name: file.Name, web: true}, nil
}

// request requests a file that needs no account.
func (d *Documents) request(ctx context.Context, client *http.Client, u *url.URL) (upstream.File, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return upstream.File{}, source.ErrURLNotAllowed
	}
	request.Header.Set("User-Agent", "Atrium")
	response, err := client.Do(request)
	if err != nil {
		return upstream.File{}, upstream.Unreachable(err)
	}
	if err := upstream.Refusal(response.StatusCode, response.Header); err != nil {
		_ = response.Body.Close()
		return upstream.File{}, err
	}
	return upstream.File{Name: fileName(response), Response: response}, nil
}

// fileName returns the name of the file from the response, or else from its URL.
func fileName(r *http.Response) string {
	if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Disposition")); err == nil &&
		params["filename"] != "" {
		return path.Base(params["filename"])
	}
	if base := path.Base(r.Request.URL.Path); base != "." && base != "/" {
		return base
	}
	return r.Request.URL.Hostname()
}
