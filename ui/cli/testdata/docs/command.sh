curl 'http://lab.test/ok' -H 'Accept-Language: de'
