-- SPDX-License-Identifier: Apache-2.0
-- Fills every text that comes from candidates, models and users with what would be something else where it is shown
-- without care: markup, handlers, links that run, control characters, marks that turn text around, SQL, tags of pages,
-- and a line of ten megabytes.
CREATE TEMP TABLE bad (text TEXT);
INSERT INTO bad SELECT '</code></pre></script><script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">'
  || '<svg onload=window.pwned=3><iframe srcdoc="<script>parent.pwned=4</script>"></iframe> [link](javascript:window.pwned=5)'
  || ' ![](http://192.0.2.1/pixel.png) <a href="http://192.0.2.1/">x</a> {{table variants}} {{#x}} ```chart <!-- " onfocus="window.pwned=6"'
  || ' autofocus tabindex=1 '' OR 1=1; DROP TABLE variants; -- ' || char(0x1b) || '[31m' || char(8, 7, 0x202e, 0x2066, 0x200f, 0x2028)
  || char(10) || '# heading' || char(10) || '| a | b |' || char(10) || '<style>body{display:none}</style>&lt;&#x3c;';
UPDATE sources SET text = (SELECT text FROM bad) || char(10) || text;
UPDATE sources SET text = text || char(10) || hex(zeroblob(5 * 1024 * 1024)) WHERE id = (SELECT max(id) FROM sources);
UPDATE variants SET name = (SELECT text FROM bad) || id,
  tunables = json_object((SELECT text FROM bad), (SELECT text FROM bad), 'BLOCK', 128);
UPDATE evaluations SET message = (SELECT text FROM bad), gate = (SELECT text FROM bad), occupancy_limiter = (SELECT text FROM bad),
  diagnostics = json_array(json_object('severity', (SELECT text FROM bad), 'line', 3, 'message', (SELECT text FROM bad)));
UPDATE evaluations SET status = 'incorrect' WHERE id % 3 = 0;
UPDATE searches SET reason = (SELECT text FROM bad), command = (SELECT text FROM bad), strategy = (SELECT text FROM bad);
UPDATE proposals SET proposer = (SELECT text FROM bad) WHERE id % 2 = 0;
UPDATE definitions SET name = (SELECT text FROM bad) || id;
UPDATE devices SET name = (SELECT text FROM bad) || id, facts = json_object((SELECT text FROM bad), (SELECT text FROM bad));
UPDATE workloads SET name = (SELECT text FROM bad) || id;
UPDATE builds SET log = (SELECT text FROM bad);
UPDATE build_kernels SET kernel = (SELECT text FROM bad) || id;
UPDATE llm_calls SET model = (SELECT text FROM bad), arm = (SELECT text FROM bad), answer = (SELECT text FROM bad), message = (SELECT text FROM bad),
  request = json_object('system', (SELECT text FROM bad), 'messages', json_array(json_object('role', (SELECT text FROM bad), 'content', (SELECT text FROM bad))));
UPDATE insights SET text = (SELECT text FROM bad) || text, subject = (SELECT text FROM bad) || id;
UPDATE metrics SET name = (SELECT text FROM bad) WHERE id % 5 = 0;
UPDATE measurements SET label = (SELECT text FROM bad), throttle_reasons = (SELECT text FROM bad);
