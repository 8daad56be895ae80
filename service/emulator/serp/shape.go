package serp

// Full is the parsed page (public documentation; fields beyond those named there are
// this emulator's). Organic is always there; the other sections if the page has them. A
// section's class is that of its items on the page, and css where an item's field stands.
type Full struct {
	General         general    `json:"general"`
	Organic         []organic  `json:"organic" class:"result"`
	Paid            []organic  `json:"paid,omitempty" class:"ad"`
	KnowledgeGraph  *knowledge `json:"knowledge_graph,omitempty"`
	PeopleAlsoAsk   []question `json:"people_also_ask,omitempty" class:"question"`
	RelatedSearches []related  `json:"related_searches,omitempty" class:"related-search"`
	News            []news     `json:"news,omitempty" class:"news-result"`
	Images          []image    `json:"images,omitempty" class:"image-result"`
	Videos          []video    `json:"videos,omitempty" class:"video-result"`
	Shopping        []product  `json:"shopping,omitempty" class:"product-result"`
	Maps            []place    `json:"maps,omitempty" class:"place-result"`
	Recipes         []recipe   `json:"recipes,omitempty" class:"recipe-result"`
	Pagination      pagination `json:"pagination"`
	// HTML is the page itself, in mode [WithHTML].
	HTML string `json:"html,omitempty"`
}

// general describes the search.
type general struct {
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

// organic is a result or an ad. DisplayLink is a short form of Link.
type organic struct {
	Rank
	Title       string      `json:"title" css:"h3"`
	Link        string      `json:"link" css:"a.title@href"`
	DisplayLink string      `json:"display_link" css:"cite"`
	Description string      `json:"description" css:".snippet"`
	Date        string      `json:"date,omitempty" css:"time"`
	Rating      float64     `json:"rating,omitempty" css:".rating@data-rating"`
	Extensions  []Extension `json:"extensions,omitempty"`
}

// Extension is a link below a result; Type is site_link.
type Extension struct {
	Type string `json:"type"`
	Link string `json:"link"`
	Text string `json:"text"`
}

// knowledge is the knowledge panel.
type knowledge struct {
	Name        string `json:"name" css:"h2"`
	Subtitle    string `json:"subtitle,omitempty" css:".subtitle"`
	Description string `json:"description" css:".description"`
	Source      string `json:"description_source,omitempty" css:"a.source"`
	Link        string `json:"description_link,omitempty" css:"a.source@href"`
	Image       string `json:"image,omitempty" css:"img@src"`
	Facts       []Fact `json:"facts,omitempty"`
}

// Fact is a line of a panel.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// question is a question that people also ask.
type question struct {
	Rank
	Question string `json:"question" css:"summary"`
	Answer   string `json:"answer" css:".answer"`
	Source   string `json:"answer_source" css:"a.source"`
	Link     string `json:"answer_link" css:"a.source@href"`
}

// related is another search.
type related struct {
	Rank
	Text string `json:"text" css:""`
	Link string `json:"link" css:"@href"`
}

// news is a story.
type news struct {
	Rank
	Title       string `json:"title" css:"h3"`
	Link        string `json:"link" css:"a.title@href"`
	Source      string `json:"source" css:".source"`
	Date        string `json:"date" css:"time"`
	Description string `json:"description" css:".snippet"`
	Image       string `json:"image,omitempty" css:"img@src"`
}

// image is a picture and its page.
type image struct {
	Rank
	Title  string `json:"title" css:"figcaption"`
	Link   string `json:"link" css:"a@href"`
	Image  string `json:"original_image" css:"img@src"`
	Alt    string `json:"image_alt" css:"img@alt"`
	Source string `json:"source" css:"cite"`
	Width  int    `json:"width,omitempty" css:"img@width"`
	Height int    `json:"height,omitempty" css:"img@height"`
}

// video is a film; Duration is m:ss.
type video struct {
	Rank
	Title       string `json:"title" css:"h3"`
	Link        string `json:"link" css:"a.title@href"`
	Author      string `json:"author" css:".channel"`
	Duration    string `json:"duration" css:".length"`
	Date        string `json:"date" css:"time"`
	Description string `json:"description" css:".snippet"`
}

// product is a product for sale.
type product struct {
	Rank
	Title   string  `json:"title" css:"h3"`
	Link    string  `json:"link" css:"a.title@href"`
	Price   string  `json:"price" css:".price"`
	Shop    string  `json:"shop" css:".seller"`
	Rating  float64 `json:"rating,omitempty" css:".rating@data-rating"`
	Reviews int     `json:"reviews_cnt,omitempty" css:".rating@data-reviews"`
	Stock   string  `json:"availability,omitempty" css:".stock"`
	Image   string  `json:"image,omitempty" css:"img@src"`
}

// place is a place on the map, in degrees north and east.
type place struct {
	Rank
	Title       string  `json:"title" css:"h3"`
	Link        string  `json:"link" css:"a.title@href"`
	Category    string  `json:"category" css:".kind"`
	Address     string  `json:"address" css:".address"`
	Hours       string  `json:"work_status,omitempty" css:".hours"`
	Rating      float64 `json:"rating,omitempty" css:".rating@data-rating"`
	Latitude    float64 `json:"latitude,omitempty"`
	Longitude   float64 `json:"longitude,omitempty"`
	Description string  `json:"description" css:".snippet"`
}

// recipe is a recipe.
type recipe struct {
	Rank
	Title  string  `json:"title" css:"h3"`
	Link   string  `json:"link" css:"a.title@href"`
	Source string  `json:"source" css:".source"`
	Time   string  `json:"total_time,omitempty" css:".time"`
	Rating float64 `json:"rating,omitempty" css:".rating@data-rating"`
}

// pagination links to the other pages. The starts are values of the engine's parameter: start for
// google, first (from 1) for bing.
type pagination struct {
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

// light is the short form (public documentation): only organic is always there.
type light struct {
	Organic    []lightResult `json:"organic"`
	TopStories []lightStory  `json:"top_stories,omitempty"`
}

// lightResult is a result of the short form.
type lightResult struct {
	Link        string      `json:"link"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	GlobalRank  int         `json:"global_rank"`
	Extensions  []Extension `json:"extensions,omitempty"`
}

// lightStory is a news story of the short form.
type lightStory struct {
	Link   string `json:"link"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Date   string `json:"date"`
}

// Light returns the short form.
func (f Full) Light() light {
	l := light{Organic: make([]lightResult, len(f.Organic))}
	for i, o := range f.Organic {
		l.Organic[i] = lightResult{o.Link, o.Title, o.Description, o.GlobalRank, o.Extensions}
	}
	for _, n := range f.News {
		l.TopStories = append(l.TopStories, lightStory{n.Link, n.Title, n.Source, n.Date})
	}
	return l
}
