package serp

// Full is the parsed page (public documentation; fields beyond those named there are
// this emulator's). Organic is always there; the other sections when the page has
// them.
type Full struct {
	General         General    `json:"general"`
	Organic         []Organic  `json:"organic"`
	Paid            []Organic  `json:"paid,omitempty"`
	KnowledgeGraph  *Knowledge `json:"knowledge_graph,omitempty"`
	PeopleAlsoAsk   []Question `json:"people_also_ask,omitempty"`
	RelatedSearches []Related  `json:"related_searches,omitempty"`
	News            []News     `json:"news,omitempty"`
	Images          []Image    `json:"images,omitempty"`
	Videos          []Video    `json:"videos,omitempty"`
	Shopping        []Product  `json:"shopping,omitempty"`
	Maps            []Place    `json:"maps,omitempty"`
	Recipes         []Recipe   `json:"recipes,omitempty"`
	Pagination      Pagination `json:"pagination"`
	// HTML is the page itself, in mode [WithHTML].
	HTML string `json:"html,omitempty"`
}

// General says what was asked.
type General struct {
	SearchEngine string `json:"search_engine"`
	Query        string `json:"query"`
	ResultsCount int    `json:"results_cnt"`
	Language     string `json:"language"`
	Country      string `json:"country,omitempty"`
	Device       string `json:"device"`
	SearchType   string `json:"search_type"` // text, or the vertical
	PageTitle    string `json:"page_title"`
}

// Rank is the place of an item: in its section, and on the page; both from 1.
type Rank struct {
	Rank       int `json:"rank"`
	GlobalRank int `json:"global_rank"`
}

// Organic is a result, or an ad. Cite Link; DisplayLink is for show.
type Organic struct {
	Rank
	Title       string      `json:"title"`
	Link        string      `json:"link"`
	DisplayLink string      `json:"display_link"`
	Description string      `json:"description"`
	Date        string      `json:"date,omitempty"`
	Rating      float64     `json:"rating,omitempty"`
	Extensions  []Extension `json:"extensions,omitempty"`
}

// Extension is a link below a result; Type is site_link.
type Extension struct {
	Type string `json:"type"`
	Link string `json:"link"`
	Text string `json:"text"`
}

// Knowledge is the panel about a thing.
type Knowledge struct {
	Name        string `json:"name"`
	Subtitle    string `json:"subtitle,omitempty"`
	Description string `json:"description"`
	Source      string `json:"description_source,omitempty"`
	Link        string `json:"description_link,omitempty"`
	Image       string `json:"image,omitempty"`
	Facts       []Fact `json:"facts,omitempty"`
}

// Fact is a line of a panel.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Question is one that people also ask.
type Question struct {
	Rank
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Source   string `json:"answer_source"`
	Link     string `json:"answer_link"`
}

// Related is another search.
type Related struct {
	Rank
	Text string `json:"text"`
	Link string `json:"link"`
}

// News is a story.
type News struct {
	Rank
	Title       string `json:"title"`
	Link        string `json:"link"`
	Source      string `json:"source"`
	Date        string `json:"date"`
	Description string `json:"description"`
	Image       string `json:"image,omitempty"`
}

// Image is a picture and the page it is on.
type Image struct {
	Rank
	Title  string `json:"title"`
	Link   string `json:"link"`
	Image  string `json:"original_image"`
	Alt    string `json:"image_alt"`
	Source string `json:"source"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// Video is a film; Duration is m:ss.
type Video struct {
	Rank
	Title       string `json:"title"`
	Link        string `json:"link"`
	Author      string `json:"author"`
	Duration    string `json:"duration"`
	Date        string `json:"date"`
	Description string `json:"description"`
}

// Product is something on sale.
type Product struct {
	Rank
	Title   string  `json:"title"`
	Link    string  `json:"link"`
	Price   string  `json:"price"`
	Shop    string  `json:"shop"`
	Rating  float64 `json:"rating,omitempty"`
	Reviews int     `json:"reviews_cnt,omitempty"`
	Stock   string  `json:"availability,omitempty"`
	Image   string  `json:"image,omitempty"`
}

// Place is somewhere on the map; degrees, north and east.
type Place struct {
	Rank
	Title       string  `json:"title"`
	Link        string  `json:"link"`
	Category    string  `json:"category"`
	Address     string  `json:"address"`
	Hours       string  `json:"work_status,omitempty"`
	Rating      float64 `json:"rating,omitempty"`
	Latitude    float64 `json:"latitude,omitempty"`
	Longitude   float64 `json:"longitude,omitempty"`
	Description string  `json:"description"`
}

// Recipe is something to cook.
type Recipe struct {
	Rank
	Title  string  `json:"title"`
	Link   string  `json:"link"`
	Source string  `json:"source"`
	Time   string  `json:"total_time,omitempty"`
	Rating float64 `json:"rating,omitempty"`
}

// Pagination says where the other pages are. The starts are numbers for the engine's
// own parameter: start at google, first (from 1) at bing.
type Pagination struct {
	CurrentPage   int    `json:"current_page"`
	NextPage      int    `json:"next_page,omitempty"`
	NextPageStart int    `json:"next_page_start,omitempty"`
	NextPageLink  string `json:"next_page_link,omitempty"`
	Pages         []Page `json:"pages,omitempty"`
}

// Page is a numbered page of results.
type Page struct {
	Page  int    `json:"page"`
	Start int    `json:"start"`
	Link  string `json:"link"`
}

// Light is the short form (public documentation): only organic is always there.
type Light struct {
	Organic    []LightResult `json:"organic"`
	TopStories []LightStory  `json:"top_stories,omitempty"`
}

// LightResult is a result of the short form.
type LightResult struct {
	Link        string      `json:"link"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	GlobalRank  int         `json:"global_rank"`
	Extensions  []Extension `json:"extensions,omitempty"`
}

// LightStory is a news story of the short form.
type LightStory struct {
	Link   string `json:"link"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Date   string `json:"date"`
}

// Light leaves out everything but results and stories.
func (f Full) Light() Light {
	l := Light{Organic: make([]LightResult, len(f.Organic))}
	for i, o := range f.Organic {
		l.Organic[i] = LightResult{o.Link, o.Title, o.Description, o.GlobalRank, o.Extensions}
	}
	for _, n := range f.News {
		l.TopStories = append(l.TopStories, LightStory{n.Link, n.Title, n.Source, n.Date})
	}
	return l
}
