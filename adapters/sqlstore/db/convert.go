package db

// Convert returns what convert makes of each row.
func Convert[R, T any](rows []R, convert func(*R) T) []T {
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = convert(&rows[i])
	}
	return values
}

// TryConvert is Convert with conversions that can fail. It stops at the first error.
func TryConvert[R, T any](rows []R, convert func(*R) (T, error)) ([]T, error) {
	values := make([]T, len(rows))
	for i := range rows {
		var err error
		if values[i], err = convert(&rows[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
