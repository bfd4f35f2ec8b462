package server

import (
	"log/slog"
	"net/http"
	"time"
)

// HTTPServer returns a handler's HTTP server, with every timeout set.
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

// Now returns a request's time, with the precision of the stores.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
