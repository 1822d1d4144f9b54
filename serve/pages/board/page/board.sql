-- Board
--
-- @board What is asked
SELECT '' AS question;
-- @tiles Figures
SELECT '' AS label, '' AS value, '' AS note;
-- @fast Share of the tasks that are correct and at least p times as fast, by the whole intervals at least and at most
SELECT '' AS baseline;
-- @cells Cells: the geometric mean of the shares of the floor over their shapes
SELECT '' AS cell;
-- @kernels Tasks with a kernel: medians of a cold L2, speed-ups in turns with their 95 % intervals
SELECT '' AS task;
-- @others Tasks without one
SELECT '' AS task;
