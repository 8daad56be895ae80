package journal

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/database"
)

// lookBack is how many of the newest entries are read for the URLs: the newest are wanted,
// and how long it takes does not depend on how many entries are kept.
const lookBack = 5000

// URLs are the distinct URLs of a profile's fetches, the most recently used first, at most
// limit. One with a login is left out, because what is kept of it cannot be sent, and so are those of
// rotations' own calls. Only the newest 5,000 fetches are looked at.
func (j *Journal) URLs(ctx context.Context, profile string, limit int) ([]string, error) {
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	var urls []string
	err := database.Each(ctx, j.db, `SELECT url FROM (
			SELECT id, url, profile FROM activity WHERE kind = 'fetch' AND NOT EXISTS (SELECT 1 FROM activity_sources s WHERE s.id = activity.id AND s.source = '`+model.SourceRotation+`') ORDER BY id DESC LIMIT ?)
		WHERE profile = ? AND url <> '' AND instr(url, ':xxxxx@') = 0 AND instr(url, '`+model.Masked+`@') = 0 GROUP BY url ORDER BY max(id) DESC LIMIT ?`,
		[]any{lookBack, profile, limit}, func(row database.Scanner) error {
			var url string
			err := row.Scan(&url)
			urls = append(urls, url)
			return err
		})
	if err != nil {
		return nil, j.db.Fault("reading the URLs of earlier fetches", err)
	}
	return urls, nil
}
