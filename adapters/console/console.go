// Package console serves the console: an application in the browser that calls the API as any other client does.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path prefix of everything that belongs to the console.
const Prefix = "/console/"

// Handler serves a built console's files, and its page at every other path below Prefix: the page itself decides which
// screen to show. Assets have the hash of all files in their path, so that browsers keep them for a year, and a page
// never gets another version's assets.
type Handler struct {
	read func() (*build, error) // once, for the first browser: most processes serve none
}

// build is a built console's files.
type build struct {
	files map[string]*file
	page  string // index.html
	hash  string
}

type file struct {
	plain       []byte
	contentType string
	packed      []packing // the shortest first
}

// packing is a file's compressed form.
type packing struct {
	encoding string
	body     func() []byte // nil if it would not be shorter
}

// brotliSuffix follows a file's name in the name of its form in Brotli, which the build makes.
const brotliSuffix = ".br"

// New returns the handler for a built console: index.html, and assets.
func New(dist fs.FS) *Handler {
	return &Handler{sync.OnceValues(func() (*build, error) { return readBuild(dist) })}
}

// readBuild reads the files of a built console, with their compressed forms.
func readBuild(dist fs.FS) (*build, error) {
	b := &build{files: map[string]*file{}}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, brotliSuffix) {
			return nil
		}
		f := &file{plain: plain, contentType: mime.TypeByExtension(path.Ext(name))}
		if short, err := fs.ReadFile(dist, name+brotliSuffix); err == nil {
			f.packed = append(f.packed, packing{"br", func() []byte { return short }})
		}
		f.packed = append(f.packed, packing{"gzip", sync.OnceValue(func() []byte { return zip(plain) })})
		b.files[name] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	index := b.files["index.html"]
	if index == nil {
		return nil, fmt.Errorf("console: there is no index.html")
	}
	delete(b.files, "index.html")
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		fmt.Fprintf(all, "%s %d\n", name, len(b.files[name].plain))
		_, _ = all.Write(b.files[name].plain) // writing to a hash never fails
	}
	b.hash = hex.EncodeToString(all.Sum(nil)[:6])
	b.page = strings.ReplaceAll(string(index.plain), `"./assets/`, `"./assets/`+b.hash+`/`)
	return b, nil
}

// zip returns plain in gzip, or nil if that is not shorter.
func zip(plain []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil || out.Len() >= len(plain) {
		return nil
	}
	return out.Bytes()
}

// accepts reports whether Accept-Encoding lists an encoding without a weight of 0. Browsers name what they accept.
func accepts(headers []string, encoding string) bool {
	for _, entry := range strings.Split(strings.Join(headers, ","), ",") {
		name, weight, _ := strings.Cut(entry, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q, isWeighted := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			return !isWeighted || strings.Trim(q, "0.") != ""
		}
	}
	return false
}

// ServeHTTP implements http.Handler.
func (c *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	b, err := c.read()
	if err != nil { // the program was built wrongly
		http.Error(w, "There is no console in this build.", http.StatusInternalServerError)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	asset, isAsset := strings.CutPrefix(name, "assets/")
	if isAsset {
		hash, rest, _ := strings.Cut(asset, "/")
		f := b.files["assets/"+rest]
		if hash != b.hash || f == nil { // of another version: the page loads itself again
			http.NotFound(w, r)
			return
		}
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		serve(w, r, f)
		return
	}
	if f := b.files[name]; f != nil {
		h.Set("Cache-Control", "public, max-age=3600")
		serve(w, r, f)
		return
	}
	b.servePage(w, r)
}

// servePage serves the page. Its base is relative, so that it works below any proxy path.
func (b *build) servePage(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	root := strings.Repeat("../", strings.Count(strings.TrimPrefix(r.URL.Path, Prefix), "/"))
	if root == "" {
		root = "./"
	}
	page := strings.NewReplacer("__NONCE__", nonce, `<base href="/console/"`, `<base href="`+root+`"`).Replace(b.page)
	h := w.Header()
	h.Set("Content-Security-Policy", policy(nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	// The page depends on the path only by its number of slashes. Writing fails if the client is gone.
	_, _ = w.Write([]byte(page)) //nolint:gosec // see above
}

// policy lets the page run only its own scripts, and prevents any text from becoming one. The nonce is for the styles
// of its editor, the frame for an embedded chat's preview.
func policy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'self'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// serve writes a file in the best form that the client accepts.
func serve(w http.ResponseWriter, r *http.Request, f *file) {
	h, body := w.Header(), f.plain
	h.Set("Content-Type", f.contentType)
	h.Set("Vary", "Accept-Encoding")
	for _, p := range f.packed {
		if !accepts(r.Header.Values("Accept-Encoding"), p.encoding) {
			continue
		}
		if content := p.body(); content != nil {
			h.Set("Content-Encoding", p.encoding)
			body = content
			break
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // it fails if the client is gone
}
