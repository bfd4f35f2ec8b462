package server

import (
	"log/slog"
	"net/http"
	"time"
)

// HTTPServer returns the HTTP server of a handler, with every timeout set.
func HTTPServer(c Config, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Addr:              c.Addr,
		Handler:           h,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: c.ReadHeaderTimeout,
		ReadTimeout:       c.ReadTimeout,
		WriteTimeout:      c.WriteTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http adds 4 KiB of its own
	}
}

const maxHeader = 32 << 10

// Now returns the time of a request, with the precision of the stores.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
