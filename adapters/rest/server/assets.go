package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Asset is a file that anyone may load, with its compressed form created once. Compressed files are a fifth as long;
// for a client that does not accept gzip, a file counts as more downloads.
type Asset struct {
	plain, zipped []byte // zipped is empty if it would not be shorter
	tag           string // entity tag of plain, without its quotes
	contentType   string
	cacheControl  string
}

// NewAsset returns a text's asset.
func NewAsset(plain []byte, contentType, cacheControl string) (*Asset, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return joinAsset(plain, compressed.Bytes(), contentType, cacheControl), nil
}

func joinAsset(plain, compressed []byte, contentType, cacheControl string) *Asset {
	if len(compressed) >= len(plain) {
		compressed = nil
	}
	sum := sha256.Sum256(plain)
	return &Asset{
		plain:        plain,
		zipped:       compressed,
		tag:          hex.EncodeToString(sum[:16]),
		contentType:  contentType,
		cacheControl: cacheControl,
	}
}

// OpenAsset returns an embedded file's asset, whose name ends with .gz if it is compressed already.
func OpenAsset(files fs.FS, name, cacheControl string) (*Asset, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	plainName, isZipped := strings.CutSuffix(name, ".gz")
	contentType := mime.TypeByExtension(path.Ext(plainName))
	if !isZipped {
		return joinAsset(content, content, contentType, cacheControl), nil
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return joinAsset(plain, content, contentType, cacheControl), nil
}

// downloadUnit is how many bytes count as one of the downloads that an address may make in a minute.
const downloadUnit = 64 << 10

// serveAsset sends f, compressed if the client accepts that, and counts its bytes against the limit of the address.
func (a *API) serveAsset(w http.ResponseWriter, r *http.Request, f *Asset) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	body, tag, isZipped := f.plain, `"`+f.tag+`"`, false
	if f.zipped != nil && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		body, tag, isZipped = f.zipped, `"`+f.tag+`-gzip"`, true
	}
	isKnown := NoneMatch(r.Header.Values("If-None-Match"), tag)
	size := len(body)
	if isKnown || r.Method == http.MethodHead {
		size = 0
	}
	if !a.MayDownload(w, r, size) {
		return
	}
	if isZipped && !isKnown {
		h.Set("Content-Encoding", "gzip")
	}
	Write(w, r, ports.Answer{
		Status: http.StatusOK,
		Body:   body,
		Header: map[string]string{
			"Content-Type": f.contentType, "Etag": tag, "Cache-Control": f.cacheControl,
		},
	})
}

// MayDownload counts a response of so many bytes as downloads of its address; it sends a problem if there have been too
// many.
func (a *API) MayDownload(w http.ResponseWriter, r *http.Request, size int) bool {
	units := min(1+size/downloadUnit, a.downloads.burst)
	if TakeAll(
		w.Header(),
		a.Now(),
		units,
		Allowance{a.downloads, identity.AddressGroup(Observed(r).Address)},
	) == nil {
		return true
	}
	a.Problem(w, r, a.Refuse("download_rate", ErrRateLimited))
	return false
}

// AssetHandler serves a route with an asset that is created at the first request.
func (a *API) AssetHandler(route string, load func() (*Asset, error)) http.Handler {
	load = sync.OnceValues(load)
	return WithRoute(route, func(w http.ResponseWriter, r *http.Request) {
		f, err := load()
		if err != nil {
			a.Problem(w, r, err)
			return
		}
		a.serveAsset(w, r, f)
	})
}

// acceptsGzip reports whether Accept-Encoding lists gzip, or everything, without a weight of 0 (RFC 9110,
// section 12.5.3).
func acceptsGzip(headers []string) bool {
	anything := false
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "gzip" && coding != "x-gzip" && coding != "*" {
				continue
			}
			q, isWeight := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q=")
			value, err := strconv.ParseFloat(q, 64)
			isAccepted := !isWeight || (err == nil && value > 0)
			if coding != "*" {
				return isAccepted
			}
			anything = isAccepted
		}
	}
	return anything
}
